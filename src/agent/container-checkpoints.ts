import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { rfc3339 } from '../kube/time.ts';
import type { PodProvider } from '../provider/provider.ts';
import type { ServerHost } from '../server/host.ts';

export interface ContainerCheckpointsDeps {
  readonly provider: Pick<PodProvider, 'checkpoint'>;
  readonly rootDir: string;
  readonly clock: Pick<Clock, 'now'>;
}

/** Has checkpoints of containers written below the root directory, under the kubelet's names (`CheckpointContainer`, pkg/kubelet/kubelet.go). */
export function containerCheckpoints(deps: ContainerCheckpointsDeps): ServerHost['checkpoint'] {
  const write = deps.provider.checkpoint?.bind(deps.provider);
  return (
    write &&
    (async (container, timeoutSeconds, signal) => {
      const folder = join(deps.rootDir, 'checkpoints');
      const { pod, namespace, container: name } = container;
      const at = rfc3339(deps.clock.now());
      const location = join(folder, `checkpoint-${pod}_${namespace}-${name}-${at}.tar`);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await write(container, location, timeoutSeconds, signal);
      return [location];
    })
  );
}
