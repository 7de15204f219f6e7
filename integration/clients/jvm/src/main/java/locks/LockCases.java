package locks;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import locks.LockLibrary.Held;
import locks.LockLibrary.User;

/** What every lock library must do. */
final class LockCases {
    private static final long LEASE_MS = 30_000;

    private final LockLibrary library;
    private final Inspector inspector;
    private final User alice;
    private final User bob;

    LockCases(LockLibrary library, Inspector inspector) {
        this.library = library;
        this.inspector = inspector;
        alice = library.connect();
        bob = library.connect();
    }

    void register(Runner runner) {
        runner.add("acquire-release", this::acquireRelease);
        runner.add("held-is-refused", this::heldIsRefused);
        runner.add("waits", this::waits);
        runner.add("extend", this::extend);
        runner.add("extend-lost", this::extendLost);
        runner.add("expiry", this::expiry);
        runner.add("script-flush", this::scriptFlush);
        runner.add("contention", this::contention);
    }

    private String acquireRelease(String key) throws Exception {
        Held held = alice.acquire(key, LEASE_MS);
        long ttl = inspector.pttl(library.stored(key));
        Check.that(ttl > 0 && ttl <= LEASE_MS, "TTL of " + ttl + " ms");
        Check.that(held.release(), "release by the owner");
        Check.that(!inspector.exists(library.stored(key)), "the key is there after its release");
        return "ttl_ms=" + ttl;
    }

    private String heldIsRefused(String key) throws Exception {
        Held held = alice.acquire(key, LEASE_MS);
        Check.that(bob.tryAcquire(key, LEASE_MS) == null, "another owner got a held lock");
        Check.that(held.release(), "release after a refusal");
        Held next = bob.tryAcquire(key, LEASE_MS);
        Check.that(next != null, "not free after its release");
        Check.that(next.release(), "release by the next owner");
        return "";
    }

    private String waits(String key) throws Exception {
        Held held = alice.acquire(key, LEASE_MS);
        AtomicReference<Held> got = new AtomicReference<>();
        CompletableFuture<Boolean> waiter = Check.inThread(() -> {
            got.set(bob.acquire(key, LEASE_MS));
            return got.get().release();
        });
        Thread.sleep(300); // long enough for the waiter to come in, if it can
        Check.that(got.get() == null, "another owner got a held lock");
        long released = System.nanoTime();
        held.release();
        Check.that(Check.await(waiter), "release by the waiter");
        return "released_after_ms=" + (System.nanoTime() - released) / 1_000_000;
    }

    private String extend(String key) throws Exception {
        Held held = alice.acquire(key, LEASE_MS);
        long spent = LEASE_MS - 1_000;
        Check.eventually("a part of the lease is over", () -> inspector.pttl(library.stored(key)) < spent);
        long before = inspector.pttl(library.stored(key));
        Check.that(held.extend(), "extension by the owner");
        long after = inspector.pttl(library.stored(key));
        Check.that(after > before && after <= LEASE_MS, "TTL of " + before + " ms became " + after);
        Check.that(bob.tryAcquire(key, LEASE_MS) == null, "another owner got an extended lock");
        Check.that(held.release(), "release after extending");
        return "ttl_ms=" + after;
    }

    private String extendLost(String key) throws Exception {
        Held held = alice.acquire(key, LEASE_MS);
        Check.equal(1L, inspector.commands().del(library.stored(key)), "deleted keys");
        Held next = bob.tryAcquire(key, LEASE_MS);
        Check.that(next != null, "not free though its key was deleted");
        String owner = inspector.commands().get(library.stored(key));
        Check.that(!held.extend(), "a lost lock was extended");
        Check.equal(owner, inspector.commands().get(library.stored(key)), "owner after the extension of a lost lock");
        Check.that(next.release(), "release by the next owner");
        return "";
    }

    private String expiry(String key) throws Exception {
        long start = System.nanoTime();
        Held held = alice.acquire(key, 1_000);
        AtomicReference<Held> next = new AtomicReference<>();
        Check.eventually("the lock expires", () -> {
            next.set(bob.tryAcquire(key, LEASE_MS));
            return next.get() != null;
        });
        long waited = (System.nanoTime() - start) / 1_000_000;
        Check.that(waited >= 990, "another owner got the lock after " + waited + " ms of 1000");
        boolean released = held.release();
        Check.that(!released || !library.tellsLoss(), "the former owner could let go");
        Check.that(alice.tryAcquire(key, LEASE_MS) == null, "the former owner's release took the lock away");
        Check.that(next.get().release(), "release by the next owner");
        return "next_owner_after_ms=" + waited;
    }

    /** Without its scripts the server answers NOSCRIPT, and the library sends the text. */
    private String scriptFlush(String key) throws Exception {
        for (int i = 0; i < 2; i++) {
            Held held = alice.acquire(key, LEASE_MS);
            inspector.commands().scriptFlush();
            Check.that(held.extend(), "extend after SCRIPT FLUSH");
            inspector.commands().scriptFlush();
            Check.that(held.release(), "release after SCRIPT FLUSH");
        }
        return "";
    }

    private String contention(String key) throws Exception {
        final int users = 5;
        final int rounds = 8;
        Guarded guarded = new Guarded();
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < users; i++) {
            all.add(Check.inThread(() -> {
                try (User user = library.connect()) {
                    for (int n = 0; n < rounds; n++) {
                        Held held = user.acquire(key, LEASE_MS);
                        guarded.use();
                        Check.that(held.release(), "release by the owner");
                    }
                }
                return null;
            }));
        }
        for (CompletableFuture<Void> user : all) {
            Check.await(user);
        }
        Check.equal(users * rounds, guarded.count(), "counter");
        return "grants=" + guarded.count();
    }
}
