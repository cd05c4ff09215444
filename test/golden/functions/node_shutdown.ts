import { nameOf } from '../../../src/kube/names.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { groupByPriority, shutdownWindows } from '../../../src/nodeshutdown/shutdown.ts';
import { check, type Replay } from '../harness.ts';

type Input =
  | { readonly op: 'migrate'; readonly requestedSeconds: number; readonly criticalSeconds: number }
  | {
      readonly op: 'group';
      readonly config: readonly { readonly Priority: number; readonly ShutdownGracePeriodSeconds: number }[];
      readonly podPriorities: Readonly<Record<string, number | null>>;
    };

function run(input: Input): unknown {
  if (input.op === 'migrate')
    return shutdownWindows(input.requestedSeconds * 1000, input.criticalSeconds * 1000).map(
      ({ priority, graceSeconds }) => ({
        Priority: priority,
        ShutdownGracePeriodSeconds: graceSeconds,
      }),
    );
  const windows = input.config.map(({ Priority, ShutdownGracePeriodSeconds }) => ({
    priority: Priority,
    graceSeconds: ShutdownGracePeriodSeconds,
  }));
  const pods = Object.entries(input.podPriorities).map(([name, priority]): Pod => ({
    metadata: { name },
    spec: { containers: [], ...(priority !== null && { priority }) },
  }));
  return groupByPriority(windows, pods).map(({ priority, graceSeconds, pods: members }) => ({
    priority,
    seconds: graceSeconds,
    pods: members.map(nameOf).sort(),
  }));
}

export const replay: Replay = ({ in: input, out }) => check(out, run(input as Input), { operation: input });
