package locks;

/** Prints one line per case, and remembers whether any failed. */
final class Report {
    /** The body of a case: returns the details of its ok line, or throws the reason why it failed. */
    interface Case {
        String run() throws Exception;
    }

    private boolean failed;

    /** Runs one case. Safe for several threads, each with cases of its own. */
    void run(String name, Case body) {
        try {
            print("ok " + name + " " + body.run());
        } catch (Throwable t) {
            fail(name, t);
        }
    }

    synchronized void fail(String name, Throwable reason) {
        failed = true;
        print("not ok " + name + " " + reason.toString().replace('\n', ' '));
        reason.printStackTrace();
    }

    private synchronized void print(String line) {
        System.out.println(line);
    }

    /** 0 when every case passed, else 1. */
    synchronized int exitCode() {
        return failed ? 1 : 0;
    }
}
