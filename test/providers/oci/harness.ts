import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { ContainerConfig, ContainerStatus } from '../../../src/provider/cri-messages.ts';
import { importImages } from '../../../src/providers/oci/archive.ts';
import type { IsolationKind } from '../../../src/providers/oci/isolation.ts';
import { openOciRuntime, type OciRuntime, type OciSettings } from '../../../src/providers/oci/oci-runtime.ts';
import type { PullImage } from '../../../src/providers/oci/image-service.ts';
import { busyboxImage, type ImageRun, layoutOf } from '../../support/images.ts';
import { soon } from '../../support/found.ts';

/** An OCI runtime in a directory of its own with the image `localhost/box:1` of busybox. */
export interface OciBench {
  readonly dir: string;
  readonly oci: OciRuntime;
  readonly sandboxId: string;
  readonly run: (command: readonly string[], config?: ContainerConfig) => Promise<string>;
  readonly status: (id: string) => Promise<ContainerStatus>;
  readonly exited: (id: string) => Promise<ContainerStatus>;
  /** Runs a command to its end in a container of its own. @returns its log without times and streams */
  readonly output: (command: readonly string[], config?: ContainerConfig) => Promise<string>;
  readonly exec: (id: string, cmd: readonly string[]) => Promise<string>;
  readonly log: () => string;
  readonly says: (text: string) => Promise<void>;
  readonly restart: () => Promise<void>;
  readonly end: () => Promise<void>;
}

export const boxName = 'localhost/box:1';
const noPull: PullImage = () => Promise.reject(new Error('no pull in this test'));

export async function makeOciBench(
  isolation: IsolationKind | 'auto' = 'auto',
  run: ImageRun = { Cmd: ['/bin/sh'] },
  more: Pick<OciSettings, 'podPidsLimit'> = {},
): Promise<OciBench> {
  const dir = mkdtempSync(join(tmpdir(), 'podtender-oci-'));
  const open = (): Promise<OciRuntime> =>
    openOciRuntime({
      settings: { dataDir: join(dir, 'oci'), hostIp: '10.0.0.1', isolation, ...more },
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      pull: () => noPull,
    });
  let oci = await open();
  const archive = join(dir, 'box.tar');
  writeFileSync(archive, layoutOf([busyboxImage(boxName, run)]));
  await importImages(oci.store, archive, { arch: process.arch });
  const metadata = { name: 'pod', namespace: 'default', uid: 'uid-1', attempt: 0 };
  const sandboxConfig = { metadata, hostname: 'box-pod', logDirectory: join(dir, 'logs') };
  const { podSandboxId: sandboxId = '' } = await oci.runtime.runPodSandbox({ config: sandboxConfig });
  let attempt = 0;
  const bench: OciBench = {
    dir,
    get oci() {
      return oci;
    },
    sandboxId,
    async run(command, config = {}) {
      const request = {
        podSandboxId: sandboxId,
        sandboxConfig,
        config: {
          metadata: { name: 'main', attempt: ++attempt },
          image: { image: boxName },
          logPath: `main/${attempt}.log`,
          command,
          ...config,
        },
      };
      const { containerId = '' } = await oci.runtime.createContainer(request);
      await oci.runtime.startContainer({ containerId });
      return containerId;
    },
    async status(id) {
      return (await oci.runtime.containerStatus({ containerId: id })).status ?? {};
    },
    async exited(id) {
      await oci.runtime.container(id).ended(AbortSignal.timeout(10_000));
      return bench.status(id);
    },
    async output(command, config) {
      await bench.exited(await bench.run(command, config));
      return bench.log();
    },
    async exec(id, cmd) {
      const { exitCode, stdout, stderr } = await oci.runtime.execSync({ containerId: id, cmd, timeout: 10 });
      return `${String(exitCode)} ${Buffer.from(stdout ?? []).toString()}${Buffer.from(stderr ?? []).toString()}`;
    },
    log: () =>
      readFileSync(join(dir, `logs/main/${attempt}.log`), 'utf8')
        .split('\n')
        .map((line) => line.split(' ').slice(3).join(' '))
        .join('\n'),
    says: (text) => soon(`the log holds ${text}`, () => bench.log().includes(text), { everyMs: 5 }),
    async restart() {
      oci.runtime.close();
      oci = await open();
    },
    async end() {
      for (const { id = '' } of (await oci.runtime.listPodSandbox({})).items ?? [])
        await oci.runtime.removePodSandbox({ podSandboxId: id });
      oci.runtime.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  return bench;
}
