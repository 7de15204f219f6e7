package locks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.Callable;

/** The orders that a test gives on standard input while it kills the master, and the answers. See the README. */
final class Orders {
    private static final long PATIENCE_MS = 60_000;

    private final BufferedReader input = new BufferedReader(new InputStreamReader(System.in));

    /** Waits for the next order, which must be this one. */
    void expect(String order) throws IOException {
        String line = input.readLine();
        if (!order.equals(line)) {
            throw new IOException("want " + order + ", got " + line);
        }
    }

    static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /** Calls until there is an answer. That a lock is not held is one. */
    static <T> T answered(Callable<T> call) throws Exception {
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
}
