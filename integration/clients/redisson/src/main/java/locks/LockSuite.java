package locks;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * Runs every lock of Redisson against the server at --addr, in named cases; with {@code --group objects} its fair
 * locks, semaphores, latches, multi-locks, rate limiters and counters.
 *
 * <p>Options: {@code --addr host:port}, {@code --protocol RESP2|RESP3}, {@code --group locks|objects},
 * {@code --case NAME} for one case only,
 * {@code --without NAME,...} for all but those, as an older Redisson has not all locks.
 */
public final class LockSuite {
    /** lockWatchdogTimeout of the clients in ms: short, so that a lock outlives several of them within a case. */
    static final long WATCHDOG_MS = 3_000;
    /** Cases mostly wait for time-outs, so several run at once. */
    private static final int PARALLEL = 4;
    private static final long TIME_LIMIT_S = 120;

    private final Map<String, Report.Case> cases = new LinkedHashMap<>();
    private final String run = UUID.randomUUID().toString().substring(0, 8);
    final Options options;
    /** Two clients, as of two hosts: a lock's owner is a thread of a client. */
    final RedissonClient first;
    final RedissonClient second;
    /** Clients of one member each, when there are several; each member tells only of its own subscribers. */
    private final List<RedissonClient> members;

    private LockSuite(Options options) {
        this.options = options;
        first = options.connect(WATCHDOG_MS);
        second = options.connect(WATCHDOG_MS);
        members = options.connectToEach();
    }

    public static void main(String[] args) throws InterruptedException {
        Options options = new Options(args);
        LockSuite suite = new LockSuite(options);
        suite.register(options.string("group", "locks"));
        suite.cases.keySet().removeAll(Set.of(options.string("without", "").split(",")));
        int code = suite.runAll(options.string("case", ""));
        suite.first.shutdown();
        suite.second.shutdown();
        suite.members.forEach(RedissonClient::shutdown);
        System.exit(code);
    }

    private void register(String group) {
        switch (group) {
            case "locks" -> {
                new PlainLocks(this).register();
                new OtherLocks(this).register();
                new ReadWriteLocks(this).register();
            }
            case "objects" -> {
                new FairLocks(this).register();
                new Semaphores(this).register();
                new ExpirablePermits(this).register();
                new Latches(this).register();
                new MultiLocks(this).register();
                new Numbers(this).register();
            }
            default -> throw new IllegalArgumentException("no such group: " + group);
        }
    }

    void add(String name, Report.Case body) {
        cases.put(name, body);
    }

    private int runAll(String only) throws InterruptedException {
        Report report = new Report();
        ExecutorService pool = Executors.newFixedThreadPool(PARALLEL);
        Set<String> unfinished = new ConcurrentSkipListSet<>();
        cases.forEach((name, body) -> {
            if (only.isEmpty() || only.equals(name)) {
                unfinished.add(name);
                pool.submit(() -> {
                    report.run(name, body);
                    unfinished.remove(name);
                });
            }
        });
        pool.shutdown();
        if (!pool.awaitTermination(TIME_LIMIT_S, TimeUnit.SECONDS)) {
            unfinished.forEach(name -> report.fail(name, new TimeoutException("not done in " + TIME_LIMIT_S + " s")));
        }
        return report.exitCode();
    }

    /** A key that no other case and no other run uses. */
    String key(String name) {
        return "suite:" + run + ":" + name;
    }

    /**
     * Waits until somebody waits for the lock, that is, has subscribed to its channel. The two clients learn at different times
     * that another member is the master, and any member wakes its subscribers: so those of all count.
     */
    void awaitWaiter(String channel, long waiters) throws Exception {
        List<RedissonClient> asked = members.isEmpty() ? List.of(first) : members;
        Check.eventually(waiters + " subscribers of " + channel, () -> subscribers(asked, channel) >= waiters);
    }

    private static long subscribers(List<RedissonClient> asked, String channel) {
        return asked.stream().mapToLong(member -> member.getTopic(channel, StringCodec.INSTANCE).countSubscribers()).sum();
    }

    static String lockChannel(String name) {
        return "redisson_lock__channel:{" + name + "}";
    }

    static String readWriteChannel(String name) {
        return "redisson_rwlock:{" + name + "}";
    }

    /** What observing a lock for some time has shown. */
    record Observation(int renewals, long lowestMs) {
    }

    /**
     * Watches a lock for so many watchdog time-outs. It must never be without a TTL (-1), gone (-2) or above the
     * watchdog's time-out, and must have been renewed at least once per time-out.
     */
    static Observation observe(RLock lock, int timeouts) throws InterruptedException {
        long start = System.nanoTime();
        long previous = lock.remainTimeToLive();
        long lowest = previous;
        int renewals = 0;
        while (Check.elapsedMs(start) < timeouts * WATCHDOG_MS + WATCHDOG_MS / 2) {
            Thread.sleep(50);
            long ttl = lock.remainTimeToLive();
            Check.that(ttl > 0 && ttl <= WATCHDOG_MS, "TTL of a held lock is " + ttl + " ms");
            renewals += ttl > previous ? 1 : 0;
            lowest = Math.min(lowest, ttl);
            previous = ttl;
        }
        Check.that(renewals >= timeouts, "renewed only " + renewals + " times in " + timeouts + " time-outs");
        return new Observation(renewals, lowest);
    }
}
