import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { systemClock as clock } from '../../src/base/clock.ts';
import { type LogOptions, type LogSink, writeLog } from '../../src/provider/logs.ts';
import type { TerminalIo } from '../../src/provider/powers.ts';
import type { ContainerRef } from '../../src/provider/refs.ts';
import type { RuntimePodStatus } from '../../src/provider/runtime-pod.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';

/** A node whose containers answer: commands echo their input, logs have two lines, ports echo. */
export class AnsweringProvider extends MemoryProvider {
  async exec(_at: ContainerRef, command: readonly string[], io: TerminalIo): Promise<number> {
    if (io.stdin) for await (const chunk of io.stdin) io.stdout?.write(chunk as Buffer);
    io.stdout?.write(command.join(' '));
    io.stderr?.write('warned');
    return command[0] === 'fail' ? 3 : 0;
  }

  async attach(_at: ContainerRef, io: TerminalIo): Promise<void> {
    io.stdout?.write('attached');
  }

  readLogs(_at: ContainerRef, options: LogOptions, sink: LogSink, signal: AbortSignal): Promise<void> {
    const lines = [{ text: 'first' }, { text: 'second' }];
    return writeLog(lines, options, sink, { now: clock.now(), signal });
  }

  async portForward(_pod: RuntimePodStatus, port: number, stream: Duplex): Promise<void> {
    const [chunk] = (await once(stream, 'data')) as [Buffer];
    stream.end(`${port}: ${chunk.toString()}`);
    await once(stream, 'finish');
  }
}
