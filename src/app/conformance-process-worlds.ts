import { join } from 'node:path';
import { containerProvider, standaloneContainerProvider } from '../agent/kuberuntime-provider.ts';
import { systemClock } from '../base/clock.ts';
import { silentLogger as logger } from '../base/logger.ts';
import { systemRandom as random } from '../base/random.ts';
import type { MakeWorld, ProviderWorld } from '../conformance/world.ts';
import { hostMounter } from '../containers/volumes/mounter.ts';
import type { ProcessPowers, ProcessRuntime } from '../providers/process/index.ts';
import { conformanceImage } from './conformance-image.ts';
import { busyboxServer, nodeServer } from './conformance-servers.ts';
import { lawFolder, NodeProbes, CallFaults } from './conformance-world-parts.ts';

/** A runtime of processes that is open. */
interface OpenRuntime {
  readonly runtime: ProcessRuntime;
  readonly powers: ProcessPowers;
}

/** What the worlds of a runtime of processes differ in. */
interface RuntimeKind {
  readonly runtimeName: string;
  readonly image?: string;
  readonly mountsVolumes?: boolean;
  readonly serve: NonNullable<ProviderWorld['serve']>;
  /** Opens the runtime over its folder; called again after a restart. */
  readonly open: (dataDir: string) => Promise<OpenRuntime>;
}

const hostIp = '127.0.0.1';

/** Makes worlds of the process provider: containers are processes of this machine, in real time. */
export async function processWorld(): Promise<ProviderWorld> {
  const { ProcessRuntime, processPowers } = await import('../providers/process/index.ts');
  return runtimeWorld({
    runtimeName: 'process',
    serve: nodeServer,
    open: async (dataDir) => {
      const runtime = new ProcessRuntime({
        settings: { dataDir, hostIp },
        clock: systemClock,
        random,
        logger,
      });
      await runtime.open();
      return { runtime, powers: processPowers(runtime) };
    },
  });
}

/**
 * Returns what makes worlds of the OCI provider: containers from an image, with the best isolation of the machine, in real time.
 *
 * @param archive an image archive with `/bin/sh` and the usual programs; absent: an image of this machine's busybox
 * @throws {AgentError} `failed_precondition` without isolation or busybox; `invalid_argument`, `not_found` for the archive
 */
export async function ociWorlds(archive?: string): Promise<MakeWorld> {
  const { detectIsolation, importImages, openOciRuntime } = await import('../providers/oci/index.ts');
  const image = await conformanceImage(archive);
  const probe = await lawFolder();
  const search = { kind: 'auto', uid: process.getuid?.() ?? 0, shell: '/bin/sh' } as const;
  const { kind, rootless } = await detectIsolation({ ...search, dir: probe.dir }).finally(probe.remove);
  const noPull = () => () => Promise.reject(new Error('the laws pull no images'));
  return () =>
    runtimeWorld({
      runtimeName: 'oci',
      image: image.name,
      serve: busyboxServer,
      mountsVolumes: kind === 'namespaces' && !rootless,
      open: async (dataDir) => {
        const settings = { dataDir, hostIp, isolation: kind };
        const oci = await openOciRuntime({ settings, clock: systemClock, random, logger, pull: noPull });
        if (!oci.store.find(image.name))
          await image.use((path) => importImages(oci.store, path, { arch: process.arch, name: image.name }));
        return oci;
      },
    });
}

async function runtimeWorld(kind: RuntimeKind): Promise<ProviderWorld> {
  const { runtimeName, image, mountsVolumes = false } = kind;
  const { dir, remove } = await lawFolder();
  const faults = new CallFaults();
  const probes = new NodeProbes();
  const options = { runtimeName, podLogsRoot: join(dir, 'logs') };
  const open = async () => {
    const { runtime, powers } = await kind.open(join(dir, 'processes'));
    const parts = { runtime: faults.around(runtime), images: runtime, powers };
    return { runtime, powers, provider: standaloneContainerProvider(parts, options, probes.results) };
  };
  let life = await open();
  let hasAgent = false;
  return {
    provider: life.provider,
    ...(image !== undefined && { image }),
    abilities: ['commands', 'hooks', ...(life.runtime.host.terminal ? (['terminals'] as const) : [])],
    failNext: faults.failNext,
    hangNext: faults.hangNext,
    serve: kind.serve,
    useProbes: probes.use,
    agent: () => {
      hasAgent = true;
      const { runtime, powers } = life;
      const makeProvider = containerProvider({ runtime, images: runtime, powers }, options);
      return { rootDir: join(dir, 'agent'), mountsVolumes, makeProvider };
    },
    restart: async () => {
      life.runtime.close();
      life = await open();
      return life.provider;
    },
    close: async () => {
      const { runtime } = life;
      for (const { id = '' } of (await runtime.listPodSandbox({})).items ?? [])
        await runtime.removePodSandbox({ podSandboxId: id });
      runtime.close();
      if (hasAgent && mountsVolumes) await hostMounter.unmount(join(dir, 'agent')); // an agent that mounts volumes shares its folder
      await remove();
    },
  };
}
