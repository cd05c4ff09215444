import { join } from 'node:path';
import { containerProvider, standaloneContainerProvider } from '../agent/kuberuntime-provider.ts';
import { systemClock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { FakeClock } from '../base/fake-clock.ts';
import { silentLogger as logger } from '../base/logger.ts';
import { systemRandom as random } from '../base/random.ts';
import type { Behaviour, MakeWorld, ProviderWorld } from '../conformance/world.ts';
import { hostMounter } from '../containers/volumes/mounter.ts';
import type { CriRuntime } from '../providers/cri/index.ts';
import type { Pod } from '../kube/types.ts';
import { lawFolder, NodeProbes, CallFaults } from './conformance-world-parts.ts';

/** Makes worlds of the memory provider, on a clock that the suite moves. */
export async function memoryWorld(): Promise<ProviderWorld> {
  const { MemoryProvider } = await import('../providers/memory/index.ts');
  const { dir, remove } = await lawFolder();
  const clock = new FakeClock(systemClock.now());
  const open = () => new MemoryProvider({ clock, journal: join(dir, 'pods.jsonl') });
  let provider = open();
  return {
    provider,
    clock,
    failNext: (call, reason) => {
      provider.failNext(call, reason);
    },
    hangNext: (call) => {
      provider.hangNext(call);
    },
    restart: async () => {
      await clock.advance(1000); // the journal is written
      provider = open();
      return provider;
    },
    close: remove,
  };
}

/** How the runtime of `--provider cri` is found. */
export interface CriSubject {
  readonly endpoint: string;
  /** An image with `/bin/sh` and its usual programs; it is pulled unless it is present. */
  readonly image: string;
}

/** Returns what makes worlds of a CRI runtime such as containerd: real containers, in real time. */
export const criWorlds =
  ({ endpoint, image }: CriSubject): MakeWorld =>
  async () => {
    const { connectCri, podEventsOf, runtimeHealthOf, validateCri } =
      await import('../providers/cri/index.ts');
    const { dir, remove } = await lawFolder();
    const faults = new CallFaults();
    const probes = new NodeProbes();
    const open = async () => {
      const runtime = connectCri(endpoint, { clock: systemClock });
      await validateCri(runtime);
      const { runtimeName = 'cri' } = await runtime.version({});
      const powers = {
        onPodEvent: podEventsOf({ runtime, clock: systemClock }),
        runtimeHealth: async (signal: AbortSignal) => runtimeHealthOf(await runtime.status({}, { signal })),
      };
      const provider = standaloneContainerProvider(
        { runtime: faults.around(runtime), images: runtime, powers },
        { runtimeName, podLogsRoot: join(dir, 'logs') },
        probes.results,
      );
      return { runtime, provider };
    };
    let life = await open();
    let hasAgent = false;
    const { runtimeName = 'cri' } = await life.runtime.version({});
    return {
      provider: life.provider,
      image,
      abilities: ['commands', 'hooks'],
      failNext: faults.failNext,
      hangNext: faults.hangNext,
      useProbes: probes.use,
      agent: () => {
        hasAgent = true;
        const { runtime } = life;
        const options = { runtimeName, podLogsRoot: join(dir, 'logs') };
        const makeProvider = containerProvider({ runtime, images: runtime }, options);
        return { rootDir: join(dir, 'agent'), mountsVolumes: true, makeProvider };
      },
      ...(!(await hasEvents(life.runtime)) && { lacks: ['events'] }),
      restart: async () => {
        await life.runtime.close();
        life = await open();
        return life.provider;
      },
      close: async (uids) => {
        const { runtime } = life;
        for (const { id = '', metadata } of (await runtime.listPodSandbox({})).items ?? [])
          if (uids.includes(metadata?.uid ?? '')) {
            await runtime.stopPodSandbox({ podSandboxId: id });
            await runtime.removePodSandbox({ podSandboxId: id });
          }
        await runtime.close();
        if (hasAgent) await hostMounter.unmount(join(dir, 'agent')); // an agent that mounts volumes shares its folder
        await remove();
      },
    };
  };

/** Whether the runtime sends events of its containers. */
async function hasEvents(runtime: CriRuntime): Promise<boolean> {
  const stop = new AbortController();
  const end = systemClock.timer(500, () => {
    stop.abort();
  });
  try {
    for await (const _ of runtime.getContainerEvents({}, { signal: stop.signal })) return true;
    return true;
  } catch (reason) {
    return AgentError.from(reason).code !== 'unimplemented';
  } finally {
    end();
  }
}

/** Makes worlds of the ECI provider over a double of the service, both on a clock that the suite moves. */
export async function eciWorld(): Promise<ProviderWorld> {
  const [{ EciProvider }, { startFakeEci }] = await Promise.all([
    import('../providers/eci/index.ts'),
    import('../providers/eci/fake/index.ts'),
  ]);
  const clock = new FakeClock(systemClock.now());
  const keys = { accessKeyId: 'fake-id', accessKeySecret: 'fake-secret' };
  const eci = await startFakeEci({ accessKeys: [keys], clock });
  const open = () =>
    new EciProvider({
      ...{ region: 'cn-hangzhou', securityGroup: 'sg-1', vSwitch: 'vsw-1', nodeName: 'conformance' },
      ...{ ...keys, endpoint: eci.url, fetch: eci.fetch, clock, random, logger },
    });
  let provider = open();
  return {
    provider,
    clock,
    behave: scripted,
    lacks: ['backOff', 'events'], // it polls: what runs for a second may be over before it is seen
    restart: async () => {
      provider.close();
      provider = open();
      return provider;
    },
    close: async () => {
      provider.close();
      await eci.stop();
    },
  };
}

/** The double plays what the name of an image says, in whole seconds. */
function scripted(pod: Pod, container: string, behaviour: Behaviour): Pod | undefined {
  const image = scriptOf(behaviour);
  if (image === undefined || !pod.spec) return undefined;
  const played = <T extends { readonly name: string }>(list: readonly T[]): readonly T[] =>
    list.map((one) => (one.name === container ? { ...one, image } : one));
  const { containers, initContainers, ...spec } = pod.spec;
  return {
    ...pod,
    spec: {
      ...spec,
      containers: played(containers),
      ...(initContainers && { initContainers: played(initContainers) }),
    },
  };
}

function scriptOf({ runMs, exitCode = 0, ...others }: Behaviour): string | undefined {
  if (Object.keys(others).length > 0) return undefined;
  if (runMs === undefined) return 'registry.example/busybox';
  return exitCode === 0
    ? `registry.example/sleep:${Math.ceil(runMs / 1000)}`
    : `registry.example/exit:${exitCode}`;
}

/** Makes worlds of virtual-kubelet's mock provider, on a clock that the suite moves. */
export async function mockWorld(): Promise<ProviderWorld> {
  const { HandlerProvider, MockProvider } = await import('../vkubelet/index.ts');
  const clock = new FakeClock(systemClock.now());
  const handler = new MockProvider({ nodeName: 'conformance', clock, random });
  const recorder = { event: () => undefined };
  const provider = new HandlerProvider({ handler, name: 'mock', clock, logger, recorder });
  provider.start();
  return {
    provider,
    clock,
    oneByName: true,
    lacks: ['exec', 'sidecars'],
    behave: (pod, _container, behaviour) => (Object.keys(behaviour).length === 0 ? pod : undefined),
    close: () => {
      provider.stop();
    },
  };
}
