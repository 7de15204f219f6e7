package locks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * Two users of one RLock while the master is killed, each with a client of its own that knows nothing but Sentinels. See
 * the README for what is read and printed.
 *
 * <p>Options: {@code --sentinels host:port,... --key NAME}, {@code --protocol RESP2|RESP3}.
 */
public final class Failover {
    private static final long PATIENCE_MS = 60_000;

    private Failover() {
    }

    public static void main(String[] args) throws Exception {
        Options options = new Options(args);
        RedissonClient first = options.connect(30_000);
        RedissonClient second = options.connect(30_000);
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        RLock alice = first.getLock(options.required("key"));
        RLock bob = second.getLock(options.required("key"));
        alice.isLocked();
        bob.isLocked();
        say("connected");
        expect(orders, "lock");
        alice.lock();
        CompletableFuture<Integer> woken = CompletableFuture.supplyAsync(() -> waitFor(bob));
        say("held");
        expect(orders, "failed");
        say("alice " + answered(alice::getHoldCount));
        expect(orders, "watched");
        say("bob " + (woken.isDone() ? "got" : "waits"));
        expect(orders, "release");
        answered(() -> {
            alice.unlock();
            return true;
        });
        say("released 1");
        int holds = woken.get();
        say("bob " + (holds == 1 ? "got" : "holds it " + holds + " times"));
        System.exit(0);
    }

    /** Waits for the lock, again when nobody answers, and tells how often it is held then. */
    private static int waitFor(RLock lock) {
        try {
            answered(() -> {
                if (!lock.isHeldByCurrentThread()) {
                    lock.lock();
                }
                return true;
            });
            return answered(lock::getHoldCount);
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
            } catch (IllegalMonitorStateException e) {
                throw e;
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
