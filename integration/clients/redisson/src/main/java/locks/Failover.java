package locks;

import static locks.Orders.answered;
import static locks.Orders.say;

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
    private Failover() {
    }

    public static void main(String[] args) throws Exception {
        Options options = new Options(args);
        RedissonClient first = options.connect(30_000);
        RedissonClient second = options.connect(30_000);
        Orders orders = new Orders();
        RLock alice = first.getLock(options.required("key"));
        RLock bob = second.getLock(options.required("key"));
        alice.isLocked();
        bob.isLocked();
        say("connected");
        orders.expect("lock");
        alice.lock();
        CompletableFuture<Integer> woken = CompletableFuture.supplyAsync(() -> waitFor(bob));
        say("held");
        orders.expect("failed");
        say("alice " + answered(alice::getHoldCount));
        orders.expect("watched");
        say("bob " + (woken.isDone() ? "got" : "waits"));
        orders.expect("release");
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
}
