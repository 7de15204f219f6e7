package locks;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs named cases, several at once, and prints a line for each.
 *
 * <p>Options, in pairs: {@code --addr host:port} or {@code --sentinels host:port,...}, {@code --library NAME},
 * {@code --case NAME} for one case only, and those that a library reads.
 */
final class Runner {
    /** The body of a case: it gets a key that nobody else uses, and returns the details of its line. */
    interface Case {
        String run(String key) throws Exception;
    }

    private static final int PARALLEL = 4; // cases mostly wait
    private static final long TIME_LIMIT_S = 120;

    private final Map<String, String> options = new HashMap<>();
    private final Map<String, Case> cases = new LinkedHashMap<>();
    private final Report report = new Report();

    Runner(String[] args) {
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i], args[i + 1]);
        }
    }

    String option(String name, String otherwise) {
        return options.getOrDefault("--" + name, otherwise);
    }

    Inspector.Server server() {
        String sentinels = option("sentinels", "");
        return new Inspector.Server(option("addr", ""), sentinels.isEmpty() ? List.of() : Arrays.asList(sentinels.split(",")));
    }

    void add(String name, Case body) {
        cases.put(name, body);
    }

    /** Runs the cases; 0 when all have passed, else 1. */
    int run() throws InterruptedException {
        String only = option("case", "");
        ExecutorService pool = Executors.newFixedThreadPool(PARALLEL);
        cases.forEach((name, body) -> {
            if (only.isEmpty() || only.equals(name)) {
                pool.submit(() -> report.run(name, () -> body.run("jvm:" + UUID.randomUUID())));
            }
        });
        pool.shutdown();
        if (!pool.awaitTermination(TIME_LIMIT_S, TimeUnit.SECONDS)) {
            report.fail("time-limit", new TimeoutException("not done in " + TIME_LIMIT_S + " s"));
        }
        return report.exitCode();
    }
}
