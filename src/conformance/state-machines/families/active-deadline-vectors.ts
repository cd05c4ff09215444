import { ActiveDeadline } from '../../../pods/active-deadline.ts';
import type { Pod, PodStatus } from '../../../kube/types.ts';
import { check, type Replay } from '../recording.ts';

export const replay: Replay = (line, header) => {
  const { pod, cachedStatus } = line['in'] as { pod: Pod; cachedStatus?: PodStatus };
  const events: string[] = [];
  const deadline = new ActiveDeadline({
    clock: { now: () => Date.parse(header['now'] as string) },
    recorder: {
      event: (_object, type, reason, message) => events.push(`${type} ${reason} ${message}`),
    },
    getPodStatus: () => cachedStatus,
  });
  const shouldSync = deadline.shouldSync(pod);
  const eviction = deadline.shouldEvict(pod);
  return check(line['out'], { shouldSync, evict: eviction !== undefined, ...eviction, events });
};
