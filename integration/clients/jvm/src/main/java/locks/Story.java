package locks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/**
 * The story of two users of one lock while the master is killed, for a client that locks by SET NX PX and a script. See
 * the README for what is read and printed.
 */
final class Story {
    static final String RELEASE =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
    static final long LEASE_MS = 30_000;
    private static final long PATIENCE_MS = 60_000;

    /** What a client can do. An exception says that it got no answer. */
    interface Client {
        boolean setIfAbsent(String key, String value, long ttlMs) throws Exception;

        String get(String key) throws Exception;

        long release(String key, String value) throws Exception;
    }

    private Story() {
    }

    static void run(String key, Client alice, Client bob) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        String token = UUID.randomUUID().toString();
        answered(() -> alice.get(key));
        answered(() -> bob.get(key));
        say("connected");
        expect(orders, "lock");
        if (!alice.setIfAbsent(key, token, LEASE_MS)) {
            throw new IllegalStateException("a free lock is refused");
        }
        CompletableFuture<Void> woken = CompletableFuture.runAsync(() -> waitFor(bob, key));
        say("held");
        expect(orders, "failed");
        say("alice " + (token.equals(answered(() -> alice.get(key))) ? 1 : 0));
        expect(orders, "watched");
        say("bob " + (woken.isDone() ? "got" : "waits"));
        expect(orders, "release");
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

    /** Calls until there is an answer. */
    private static <T> T answered(Callable<T> call) throws Exception {
        long end = System.currentTimeMillis() + PATIENCE_MS;
        for (;;) {
            try {
                return call.call();
            } catch (Exception e) {
                if (System.currentTimeMillis() > end) {
                    throw e;
                }
                Thread.sleep(20);
            }
        }
    }

    private static void expect(BufferedReader orders, String order) throws IOException {
        String line = orders.readLine();
        if (!order.equals(line)) {
            throw new IOException("want " + order + ", got " + line);
        }
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
