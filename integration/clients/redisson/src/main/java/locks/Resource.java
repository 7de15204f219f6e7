package locks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** One user's connection to the resource: a line for each request, a line for each answer. */
final class Resource implements AutoCloseable {
    private final String who;
    private final Socket socket;
    private final BufferedReader answers;

    Resource(String addr, String who) throws IOException {
        int colon = addr.lastIndexOf(':');
        this.who = who;
        socket = new Socket(addr.substring(0, colon), Integer.parseInt(addr.substring(colon + 1)));
        socket.setTcpNoDelay(true);
        answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    void join(int parties) throws IOException {
        ask("join " + parties);
    }

    long enter() throws IOException {
        return Long.parseLong(ask("enter " + who));
    }

    void leave(long counter) throws IOException {
        ask("leave " + counter);
    }

    private String ask(String request) throws IOException {
        socket.getOutputStream().write((request + "\n").getBytes(StandardCharsets.UTF_8));
        String answer = answers.readLine();
        if (answer == null || !answer.startsWith("ok ")) {
            throw new IOException(who + " asked " + request + ": " + answer);
        }
        return answer.substring(3);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
