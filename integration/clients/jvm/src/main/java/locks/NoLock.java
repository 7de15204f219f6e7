package locks;

import io.lettuce.core.SetArgs;

/** A lock that everybody gets at once: it shows that the cases notice. */
record NoLock(Inspector inspector) implements LockLibrary {
    @Override
    public User connect() {
        return new User() {
            @Override
            public Held tryAcquire(String key, long ttlMs) {
                return taken(key, ttlMs);
            }

            @Override
            public void close() {
            }
        };
    }

    private Held taken(String key, long ttlMs) {
        inspector.commands().set(key, "anybody", SetArgs.Builder.px(ttlMs));
        return new Held() {
            @Override
            public boolean extend() {
                return "OK".equals(inspector.commands().set(key, "anybody", SetArgs.Builder.px(ttlMs)));
            }

            @Override
            public boolean release() {
                inspector.commands().del(key);
                return true;
            }
        };
    }
}
