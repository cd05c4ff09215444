import { spawn } from 'node:child_process';
import type { WebSocket } from 'ws';

/** A command that the service was asked to run. */
export interface FakeCommand {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly tty: boolean;
}

/** What a command printed and how it ended. */
export interface FakeCommandResult {
  readonly output: string;
  readonly exitCode: number;
}

/** How long a command may run, ms. */
const longestMs = 60_000;

/** runCommand runs a command as a local process and collects its output: the double has no containers. */
export function runCommand({ command, env }: FakeCommand): Promise<FakeCommandResult> {
  const [file = '', ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      env: { PATH: '/usr/bin:/bin', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: longestMs,
    });
    const parts: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => parts.push(part));
    child.stderr.on('data', (part: Buffer) => parts.push(part));
    child.on('error', (fault) => {
      resolve({ output: `exec failed: ${fault.message}\n`, exitCode: 126 });
    });
    child.on('exit', (code) => {
      // what is still in the pipes arrives within this turn
      setImmediate(() => {
        resolve({ output: Buffer.concat(parts).toString(), exitCode: code ?? 137 });
      });
    });
  });
}

/** The terminal sizes that clients have sent, for tests. */
export interface FakeTerminalSize {
  readonly width: number;
  readonly height: number;
}

/** serveCommand runs a command over a WebSocket in Kubernetes' channels: input 0, output 1 and 2, status 3, sizes 4. */
export function serveCommand(
  socket: WebSocket,
  { command, env, tty }: FakeCommand,
  resized: (size: FakeTerminalSize) => void,
): void {
  const [file = '', ...args] = command;
  const child = spawn(file, args, {
    env: { PATH: '/usr/bin:/bin', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const send = (channel: number, bytes: Buffer): void => {
    socket.send(Buffer.concat([Buffer.from([channel]), bytes]));
  };
  child.stdout.on('data', (part: Buffer) => {
    send(1, part);
  });
  child.stderr.on('data', (part: Buffer) => {
    send(tty ? 1 : 2, part);
  });
  child.stdin.on('error', () => undefined);
  socket.on('message', (data) => {
    const bytes = data as Buffer;
    if (bytes[0] === 0) child.stdin.write(bytes.subarray(1));
    if (bytes[0] === 255) child.stdin.end();
    if (bytes[0] === 4) {
      const { Width, Height } = JSON.parse(bytes.subarray(1).toString()) as { Width: number; Height: number };
      resized({ width: Width, height: Height });
    }
  });
  socket.on('close', () => {
    child.kill('SIGKILL');
  });
  child.on('error', (fault) => {
    send(3, Buffer.from(JSON.stringify(failure(126, fault.message))));
  });
  child.on('close', (code) => {
    const exitCode = code ?? 137;
    send(
      3,
      Buffer.from(
        JSON.stringify(exitCode === 0 ? { status: 'Success' } : failure(exitCode, 'command terminated')),
      ),
    );
  });
}

const failure = (exitCode: number, message: string): object => ({
  status: 'Failure',
  message,
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
});
