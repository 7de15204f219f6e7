package locks;

import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.Arrays;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.redisson.api.RLock;
import org.redisson.api.RTopic;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * Measures how long after an unlock by one client the waiter of another client holds the lock, and shows that it is
 * the message of the unlock that wakes it: leases are LEASE_S long. A lock that vanishes silently wakes nobody, unless the
 * server wakes those who wait by itself.
 *
 * <p>Options: {@code --addr host:port}, {@code --protocol RESP2|RESP3}, {@code --samples 250}, {@code --wakeups no|yes}
 * (what the server does).
 */
public final class Wakeup {
    /** Far above any wake-up: a waiter that comes by its time-out comes this late. */
    private static final long LEASE_S = 30;
    /** How long the holder keeps the lock once the waiter has subscribed, so that the waiter really waits. */
    private static final long HOLD_MS = 10;
    /** How long a waiter that nobody wakes is watched. */
    private static final long SILENCE_MS = 1_500;

    private final RedissonClient holder;
    private final RedissonClient waiter;
    private final String name = "wakeup:" + UUID.randomUUID();
    private final RTopic channel;

    private Wakeup(RedissonClient holder, RedissonClient waiter) {
        this.holder = holder;
        this.waiter = waiter;
        channel = holder.getTopic(LockSuite.lockChannel(name), StringCodec.INSTANCE);
    }

    public static void main(String[] args) {
        Options options = new Options(args);
        RedissonClient holder = options.connect(30_000);
        RedissonClient waiter = options.connect(30_000);
        Wakeup wakeup = new Wakeup(holder, waiter);
        Report report = new Report();
        report.run("wakeup-latency", () -> wakeup.latency(options.number("samples", 250)));
        if (options.string("wakeups", "no").equals("yes")) {
            report.run("wakeup-without-message", wakeup::withoutMessage);
        } else {
            report.run("wakeup-only-by-message", wakeup::onlyByMessage);
        }
        holder.shutdown();
        waiter.shutdown();
        System.exit(report.exitCode());
    }

    private String latency(int samples) throws Exception {
        sample(20);
        double[] ms = sample(samples);
        Arrays.sort(ms);
        double worst = ms[samples - 1];
        Check.that(worst < LEASE_S * 1_000 / 2, "a waiter came after " + worst + " ms, perhaps by its time-out");
        return String.format(Locale.ROOT, "samples=%d p50_ms=%.3f p99_ms=%.3f max_ms=%.3f lease_ms=%d",
            samples, percentile(ms, 50), percentile(ms, 99), worst, LEASE_S * 1_000);
    }

    private double[] sample(int samples) throws Exception {
        double[] ms = new double[samples];
        RLock held = holder.getLock(name);
        for (int i = 0; i < samples; i++) {
            held.lock(LEASE_S, SECONDS);
            CompletableFuture<Long> acquired = startWaiter();
            Thread.sleep(HOLD_MS);
            long unlocking = System.nanoTime();
            held.unlock();
            ms[i] = (Check.await(acquired) - unlocking) / 1e6;
        }
        return ms;
    }

    /** Starts a waiter that answers when it got the lock (in nanoTime) and has unlocked; returns once it waits. */
    private CompletableFuture<Long> startWaiter() throws Exception {
        RLock lock = waiter.getLock(name);
        Check.eventually("the former waiter has unsubscribed", () -> channel.countSubscribers() == 0);
        CompletableFuture<Long> acquired = Check.inThread(() -> {
            lock.lock(LEASE_S, SECONDS);
            long at = System.nanoTime();
            lock.unlock();
            return at;
        });
        Check.eventually("the waiter has subscribed", () -> channel.countSubscribers() == 1);
        return acquired;
    }

    /** A key deleted without a message leaves the waiter asleep; the message alone wakes it. */
    private String onlyByMessage() throws Exception {
        holder.getLock(name).lock(LEASE_S, SECONDS);
        CompletableFuture<Long> acquired = startWaiter();
        Thread.sleep(HOLD_MS);
        Check.equal(1L, holder.getKeys().delete(name), "deleted keys");
        Thread.sleep(SILENCE_MS);
        Check.that(!acquired.isDone(), "the waiter got the lock without a message");
        long published = System.nanoTime();
        Check.equal(1L, channel.publish("0"), "receivers of the message");
        double ms = (Check.await(acquired) - published) / 1e6;
        return String.format(Locale.ROOT, "asleep_ms=%d then_woken_in_ms=%.3f", SILENCE_MS, ms);
    }

    /** The server wakes the waiter of a key that was deleted without a message, long before the lease is over. */
    private String withoutMessage() throws Exception {
        holder.getLock(name).lock(LEASE_S, SECONDS);
        CompletableFuture<Long> acquired = startWaiter();
        Thread.sleep(HOLD_MS);
        long deleting = System.nanoTime();
        Check.equal(1L, holder.getKeys().delete(name), "deleted keys");
        double ms = (Check.await(acquired) - deleting) / 1e6;
        Check.that(ms < LEASE_S * 1_000 / 2, "the waiter came after " + ms + " ms, perhaps by its time-out");
        return String.format(Locale.ROOT, "woken_in_ms=%.3f", ms);
    }

    /** The p-th percentile by the nearest-rank method. */
    private static double percentile(double[] sorted, int p) {
        return sorted[(int) Math.ceil(sorted.length * p / 100.0) - 1];
    }
}
