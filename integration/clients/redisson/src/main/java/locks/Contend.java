package locks;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * Many threads, in several JVMs, take one RLock in turns and use a shared resource inside it.
 *
 * <p>The resource (package resource of the tests) notices when two are inside at once, and keeps a counter that
 * each user reads on entering and writes, one higher, on leaving.
 *
 * <p>Options: {@code --addr host:port --resource host:port --key NAME --group NAME}, {@code --threads 20},
 * {@code --iterations 25}, {@code --parties 20} (threads of all JVMs: none starts before all are there),
 * {@code --lock plain|none} (none proves that the resource does notice).
 */
public final class Contend {
    private Contend() {
    }

    public static void main(String[] args) throws Exception {
        Options options = new Options(args);
        Report report = new Report();
        RedissonClient client = options.connect(30_000);
        report.run("contend", () -> contend(options, client));
        client.shutdown();
        System.exit(report.exitCode());
    }

    private static String contend(Options options, RedissonClient client) throws Exception {
        int threads = options.number("threads", 20);
        int iterations = options.number("iterations", 25);
        RLock lock = client.getLock(options.required("key"));
        boolean locking = options.string("lock", "plain").equals("plain");
        long start = System.nanoTime();
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            String who = options.required("group") + "/" + i;
            all.add(Check.inThread(() -> {
                try (Resource resource = new Resource(options.required("resource"), who)) {
                    resource.join(options.number("parties", threads));
                    for (int n = 0; n < iterations; n++) {
                        use(resource, lock, locking);
                    }
                }
                return null;
            }));
        }
        for (CompletableFuture<Void> thread : all) {
            thread.get(120, TimeUnit.SECONDS);
        }
        return "threads=" + threads + " grants=" + threads * iterations + " ms=" + Check.elapsedMs(start);
    }

    private static void use(Resource resource, RLock lock, boolean locking) throws IOException {
        if (locking) {
            lock.lock();
        }
        try {
            long counter = resource.enter();
            resource.leave(counter + 1);
        } finally {
            if (locking) {
                lock.unlock();
            }
        }
    }
}
