package locks;

import static locks.Orders.answered;
import static locks.Orders.say;

import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The story of two users of one lock while the master is killed, for a client that locks by SET NX PX and a script. See
 * the README for what is read and printed.
 */
final class Story {
    static final long LEASE_MS = 30_000;

    /** What a client can do. An exception says that it got no answer. */
    interface Client {
        boolean setIfAbsent(String key, String value, long ttlMs) throws Exception;

        String get(String key) throws Exception;

        long release(String key, String value) throws Exception;
    }

    private Story() {
    }

    static void run(String key, Client alice, Client bob) throws Exception {
        Orders orders = new Orders();
        String token = UUID.randomUUID().toString();
        answered(() -> alice.get(key));
        answered(() -> bob.get(key));
        say("connected");
        orders.expect("lock");
        if (!alice.setIfAbsent(key, token, LEASE_MS)) {
            throw new IllegalStateException("a free lock is refused");
        }
        CompletableFuture<Void> woken = CompletableFuture.runAsync(() -> waitFor(bob, key));
        say("held");
        orders.expect("failed");
        say("alice " + (token.equals(answered(() -> alice.get(key))) ? 1 : 0));
        orders.expect("watched");
        say("bob " + (woken.isDone() ? "got" : "waits"));
        orders.expect("release");
        say("released " + answered(() -> alice.release(key, token)));
        woken.get();
        say("bob got");
    }

    /** Tries every 20 ms, as lock libraries without notifications do. */
    private static void waitFor(Client bob, String key) {
        String token = UUID.randomUUID().toString();
        try {
            while (!answered(() -> bob.setIfAbsent(key, token, LEASE_MS) || token.equals(bob.get(key)))) {
                Thread.sleep(20);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
