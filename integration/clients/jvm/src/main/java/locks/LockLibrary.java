package locks;

/** A way to lock, made usable by the cases. */
interface LockLibrary {
    /** A user of locks: a client of its own, with connections of its own. */
    User connect();

    /** The key that the library keeps in the server for a lock. */
    default String stored(String key) {
        return key;
    }

    /** Whether the library says that a lock which is let go was not held any more. */
    default boolean tellsLoss() {
        return true;
    }

    /** One user of locks. What a thread takes, that thread lets go. */
    interface User extends AutoCloseable {
        /** Null when the lock is held. */
        Held tryAcquire(String key, long ttlMs) throws Exception;

        /** Waits for the lock. */
        default Held acquire(String key, long ttlMs) throws Exception {
            for (;;) {
                Held held = tryAcquire(key, ttlMs);
                if (held != null) {
                    return held;
                }
                Thread.sleep(5);
            }
        }

        @Override
        void close();
    }

    /** A lock that was taken. */
    interface Held {
        /** Gives the lock its TTL once more; false when it was not held any more. */
        boolean extend() throws Exception;

        /** Lets go; false when the library says that the lock was not held any more. */
        boolean release() throws Exception;
    }
}
