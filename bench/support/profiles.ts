import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

interface Answer {
  readonly id: number;
  readonly result: Readonly<Record<string, unknown>>;
}

/** Profiler measures a Node process that was started with `--inspect=127.0.0.1:PORT`: CPU profiles, and what its heap holds. */
export class Profiler {
  readonly #socket: WebSocket;
  #id = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Connects to the process; waits until its inspector answers. */
  static async connect(port: number): Promise<Profiler> {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}/json`).catch(() => undefined);
      if (!answer) {
        await sleep(50);
        continue;
      }
      const [target] = (await answer.json()) as readonly { readonly webSocketDebuggerUrl: string }[];
      if (!target) throw new Error(`the inspector at port ${port} has no target`);
      const socket = new WebSocket(target.webSocketDebuggerUrl);
      await once(socket, 'open');
      const profiler = new Profiler(socket);
      await profiler.#call('Profiler.enable');
      return profiler;
    }
  }

  async start(): Promise<void> {
    await this.#call('Profiler.start');
  }

  /** Ends the profile and writes it to `file`, for a viewer of `.cpuprofile` files. */
  async stop(file: string): Promise<void> {
    const { profile } = await this.#call('Profiler.stop');
    writeFileSync(file, JSON.stringify(profile));
  }

  /** Returns the bytes of the heap that are in use after a collection of all garbage. */
  async heapBytes(): Promise<number> {
    await this.#call('HeapProfiler.collectGarbage');
    const { usedSize } = await this.#call('Runtime.getHeapUsage');
    return Number(usedSize);
  }

  close(): void {
    this.#socket.close();
  }

  #call(method: string): Promise<Answer['result']> {
    const id = ++this.#id;
    return new Promise((resolve) => {
      const listener = ({ data }: MessageEvent): void => {
        const answer = JSON.parse(String(data)) as Answer;
        if (answer.id !== id) return;
        this.#socket.removeEventListener('message', listener);
        resolve(answer.result);
      };
      this.#socket.addEventListener('message', listener);
      this.#socket.send(JSON.stringify({ id, method }));
    });
  }
}
