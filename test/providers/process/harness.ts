import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type {
  ContainerConfig,
  ContainerEventResponse,
  ContainerStatus,
} from '../../../src/provider/cri-messages.ts';
import { ContainerEventType } from '../../../src/provider/cri-messages.ts';
import { ProcessRuntime } from '../../../src/providers/process/runtime.ts';

/** A process runtime in a directory of its own, with the shortest way to run one container. */
export interface Bench {
  readonly dir: string;
  runtime: ProcessRuntime;
  readonly sandboxId: string;
  create(config: ContainerConfig): Promise<string>;
  run(command: readonly string[], config?: ContainerConfig): Promise<string>;
  status(id: string): Promise<ContainerStatus>;
  /** Resolves with the status once the container has exited. */
  exited(id: string): Promise<ContainerStatus>;
  /** Resolves once the log of a running container holds `text`. */
  says(id: string, text: string): Promise<void>;
  log(): string;
  /** As a killed agent and a new one would. */
  restart(): Promise<void>;
  end(): Promise<void>;
}

export async function openRuntime(dir: string): Promise<ProcessRuntime> {
  const runtime = new ProcessRuntime({
    settings: { dataDir: join(dir, 'process'), hostIp: '10.0.0.1' },
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  await runtime.open();
  return runtime;
}

export async function makeBench(): Promise<Bench> {
  const dir = mkdtempSync(join(tmpdir(), 'podtender-process-'));
  const runtime = await openRuntime(dir);
  const metadata = { name: 'pod', namespace: 'default', uid: 'uid-1', attempt: 0 };
  const sandboxConfig = { metadata, hostname: 'pod', logDirectory: join(dir, 'logs') };
  const { podSandboxId: sandboxId = '' } = await runtime.runPodSandbox({ config: sandboxConfig });
  const bench: Bench = {
    dir,
    runtime,
    sandboxId,
    async create(config) {
      const request = { podSandboxId: sandboxId, config, sandboxConfig };
      return (await bench.runtime.createContainer(request)).containerId ?? '';
    },
    async run(command, config = {}) {
      const id = await bench.create({
        metadata: { name: 'main', attempt: 0 },
        image: { image: 'any' },
        logPath: 'main/0.log',
        command,
        ...config,
      });
      await bench.runtime.startContainer({ containerId: id });
      return id;
    },
    async status(id) {
      return (await bench.runtime.containerStatus({ containerId: id })).status ?? {};
    },
    async exited(id) {
      await bench.runtime.container(id).ended(AbortSignal.timeout(10_000));
      return bench.status(id);
    },
    says: (id, text) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!bench.log().includes(text)) return;
          off();
          resolve();
        };
        const off = bench.runtime.container(id).onOutput(look);
        look();
      }),
    log: () => readFileSync(join(dir, 'logs/main/0.log'), 'utf8'),
    async restart() {
      bench.runtime.close();
      bench.runtime = await openRuntime(dir);
    },
    async end() {
      for (const { id = '' } of (await bench.runtime.listPodSandbox({})).items ?? []) {
        await bench.runtime.removePodSandbox({ podSandboxId: id });
      }
      bench.runtime.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  return bench;
}

/** The next event of a kind; subscribes at once. */
export function nextEvent(
  runtime: ProcessRuntime,
  type: ContainerEventType,
): Promise<ContainerEventResponse> {
  return new Promise((resolve) => {
    const off = runtime.events.on('change', (_uid, event) => {
      if (event.containerEventType !== type) return;
      off();
      resolve(event);
    });
  });
}
