package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;

/** Cases of RReadWriteLock. */
final class ReadWriteLocks {
    private final LockSuite suite;

    ReadWriteLocks(LockSuite suite) {
        this.suite = suite;
    }

    void register() {
        suite.add("rw-read-watchdog", this::readWatchdog);
        suite.add("rw-read-reentrant", this::readReentrant);
        suite.add("rw-write-watchdog", this::writeWatchdog);
        suite.add("rw-write-wakes-readers", this::writeWakesReaders);
        suite.add("rw-downgrade", this::downgrade);
        suite.add("rw-upgrade-refused", this::upgradeRefused);
        suite.add("rw-read-lease", this::readLease);
        suite.add("rw-force-unlock", this::forceUnlock);
    }

    private RReadWriteLock ofFirst(String name) {
        return suite.first.getReadWriteLock(suite.key(name));
    }

    private RReadWriteLock ofSecond(String name) {
        return suite.second.getReadWriteLock(suite.key(name));
    }

    /** Two readers of two clients are renewed by two watchdogs; a writer stays out until the last has left. */
    private String readWatchdog() throws Exception {
        RReadWriteLock one = ofFirst("rw-read");
        RReadWriteLock two = ofSecond("rw-read");
        one.readLock().lock();
        two.readLock().lock();
        CompletableFuture<Boolean> writer = Check.inThread(() -> {
            RLock write = one.writeLock();
            write.lock(30, SECONDS);
            write.unlock();
            return true;
        });
        LockSuite.Observation seen = LockSuite.observe(two.readLock(), 3);
        Check.that(!two.writeLock().tryLock(), "a writer got in beside a reader");
        one.readLock().unlock();
        LockSuite.observe(one.readLock(), 1);
        Check.that(!writer.isDone(), "a writer got in beside a reader");
        two.readLock().unlock();
        Check.await(writer);
        return "renewals=" + seen.renewals() + " lowest_ttl_ms=" + seen.lowestMs();
    }

    /** The read watchdog's script counts down from a hash field, which is a string. */
    private String readReentrant() throws Exception {
        RLock read = ofFirst("rw-reentrant").readLock();
        RLock write = ofSecond("rw-reentrant").writeLock();
        for (int count = 1; count <= 3; count++) {
            read.lock();
            Check.equal(count, read.getHoldCount(), "hold count after lock");
        }
        LockSuite.observe(write, 2);
        for (int count = 2; count >= 0; count--) {
            Check.that(!write.tryLock(), "a writer got in beside a reader");
            read.unlock();
            Check.equal(count, read.getHoldCount(), "hold count after unlock");
        }
        Check.that(write.tryLock(), "a writer was refused although no reader is left");
        write.unlock();
        return "holds=3";
    }

    private String writeWatchdog() throws Exception {
        RReadWriteLock one = ofFirst("rw-write");
        RReadWriteLock two = ofSecond("rw-write");
        one.writeLock().lock();
        LockSuite.Observation seen = LockSuite.observe(two.writeLock(), 2);
        Check.that(!two.writeLock().tryLock(), "a second writer got in");
        Check.that(!two.readLock().tryLock(), "a reader got in beside a writer");
        one.writeLock().unlock();
        Check.that(two.readLock().tryLock(), "a reader was refused although no writer is left");
        two.readLock().unlock();
        return "renewals=" + seen.renewals();
    }

    private String writeWakesReaders() throws Exception {
        RReadWriteLock one = ofFirst("rw-wake");
        one.writeLock().lock(30, SECONDS);
        List<CompletableFuture<Boolean>> readers = new ArrayList<>();
        for (RReadWriteLock lock : List.of(ofFirst("rw-wake"), ofSecond("rw-wake"))) {
            for (int i = 0; i < 3; i++) {
                readers.add(Check.inThread(() -> lock.readLock().tryLock(Check.PATIENCE_MS, 30_000, MILLISECONDS)));
            }
        }
        suite.awaitWaiter(LockSuite.readWriteChannel(suite.key("rw-wake")), 2);
        Thread.sleep(500); // Redisson wakes only those of its threads that wait already, not those that are about to
        one.writeLock().unlock();
        for (CompletableFuture<Boolean> reader : readers) {
            Check.that(Check.await(reader), "a reader was not woken");
        }
        Check.that(!one.writeLock().tryLock(), "a writer got in beside readers");
        Check.that(one.readLock().forceUnlock(), "forceUnlock found no readers");
        return "readers=" + readers.size();
    }

    /** A writer may read, then leave off writing: it stays a reader. */
    private String downgrade() throws Exception {
        RReadWriteLock one = ofFirst("rw-downgrade");
        RReadWriteLock two = ofSecond("rw-downgrade");
        one.writeLock().lock(30, SECONDS);
        Check.that(one.readLock().tryLock(0, 30, SECONDS), "a writer may not read");
        Check.that(!two.readLock().tryLock(), "a reader got in beside a writer");
        one.writeLock().unlock();
        Check.that(two.readLock().tryLock(0, 30, SECONDS), "a second reader was refused");
        Check.that(!two.writeLock().tryLock(), "a writer got in beside readers");
        one.readLock().unlock();
        two.readLock().unlock();
        Check.that(two.writeLock().tryLock(0, 30, SECONDS), "a writer was refused although no reader is left");
        two.writeLock().unlock();
        return "";
    }

    /** A reader may not become a writer, not even as the only one (as in ReentrantReadWriteLock). */
    private String upgradeRefused() throws Exception {
        RReadWriteLock lock = ofFirst("rw-upgrade");
        lock.readLock().lock(30, SECONDS);
        Check.that(!lock.writeLock().tryLock(300, 30_000, MILLISECONDS), "a reader became a writer");
        lock.readLock().unlock();
        Check.that(lock.writeLock().tryLock(0, 30, SECONDS), "a writer was refused although no reader is left");
        lock.writeLock().unlock();
        return "";
    }

    private String readLease() throws Exception {
        RReadWriteLock one = ofFirst("rw-lease");
        RReadWriteLock two = ofSecond("rw-lease");
        long start = System.nanoTime();
        one.readLock().lock(1, SECONDS);
        two.writeLock().lock(30, SECONDS);
        long waited = Check.elapsedMs(start);
        Check.that(waited >= 1_000 && waited < 5_000, "a read lease of 1 s ended after " + waited + " ms");
        Check.rejects(IllegalMonitorStateException.class, "unlock after the lease",
            () -> PlainLocks.unlock(one.readLock()));
        two.writeLock().unlock();
        return "writer_after_ms=" + waited;
    }

    private String forceUnlock() throws Exception {
        RReadWriteLock one = ofFirst("rw-force");
        RReadWriteLock two = ofSecond("rw-force");
        one.writeLock().lock(30, SECONDS);
        CompletableFuture<Boolean> waiter = Check.inThread(
            () -> two.readLock().tryLock(Check.PATIENCE_MS, 30_000, MILLISECONDS));
        suite.awaitWaiter(LockSuite.readWriteChannel(suite.key("rw-force")), 1);
        Check.that(two.writeLock().forceUnlock(), "forceUnlock found no writer");
        Check.that(Check.await(waiter), "the waiting reader was not woken");
        Check.rejects(IllegalMonitorStateException.class, "the former owner's unlock",
            () -> PlainLocks.unlock(one.writeLock()));
        Check.that(two.readLock().forceUnlock(), "forceUnlock found no reader");
        return "";
    }
}
