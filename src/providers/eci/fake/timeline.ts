/** What an image name tells the double to play. */
export interface Script {
  /** How long a container runs, ms; absent: until it is stopped. */
  readonly runsMs?: number;
  readonly exitCode: number;
  /** Set: the container never starts, and waits with this reason. */
  readonly pullFault?: string;
  readonly ready: boolean;
  /** How long the deletion takes, ms. */
  readonly deletionMs: number;
}

/** scriptOf reads a script from the last part of an image name: `sleep:30`, `exit:3`, `crashloop`, `pullfail`, `neverready`, `slow-delete:20`. */
export function scriptOf(image: string, kind: 'init' | 'regular'): Script {
  const [, name = '', amount = ''] = /([^/:]*)(?::([^/]*))?$/.exec(image) ?? [];
  const base: Script = {
    exitCode: 0,
    ready: true,
    deletionMs: 2000,
    ...(kind === 'init' && { runsMs: 1000 }),
  };
  const number = Number(amount) || 0;
  switch (name) {
    case 'sleep':
      return { ...base, runsMs: number * 1000 };
    case 'exit':
      return { ...base, runsMs: 1000, exitCode: number };
    case 'crashloop':
      return { ...base, runsMs: 1000, exitCode: 1 };
    case 'pullfail':
      return { ...base, pullFault: 'ImagePullBackOff' };
    case 'neverready':
      return { ...base, ready: false };
    case 'slow-delete':
      return { ...base, deletionMs: number * 1000 };
    default:
      return base;
  }
}

/** One life of a container; an absent end is yet to come. */
export interface Life {
  readonly startedAt: number;
  readonly finishedAt?: number;
  readonly exitCode?: number;
}

/** A container as it is at some instant. */
export interface ContainerView {
  readonly name: string;
  readonly image: string;
  readonly script: Script;
  /** All lives so far, the oldest first. */
  readonly lives: readonly Life[];
  /** Whether another life will begin. */
  readonly restarts: boolean;
}

/** What the double plays of one container. */
export interface Part {
  readonly name: string;
  readonly image: string;
  readonly script: Script;
}

/** The instants of a group's life. */
export interface Course {
  readonly createdAt: number;
  readonly restartPolicy: string;
  readonly init: readonly Part[];
  readonly regular: readonly Part[];
  /** When its deletion was asked for; absent: it was not. */
  readonly deletedAt?: number;
}

/** How long a group is `Scheduling`, and then `Pending`, ms. */
export const scheduling = { scheduledAfterMs: 1000, startedAfterMs: 2000 };
/** How long a container takes to end when its group is deleted, ms. */
const stopMs = 1000;

/** A group as it is at some instant. */
export interface CourseView {
  readonly status: string;
  readonly init: readonly ContainerView[];
  readonly regular: readonly ContainerView[];
  /** When the group's state last changed, ms since the epoch. */
  readonly changedAt: number;
  /** True from the instant at which the deletion is complete. */
  readonly gone: boolean;
}

/** viewOf is the group at `now`: the same course and time give the same view. */
export function viewOf(course: Course, now: number): CourseView {
  const { createdAt, deletedAt } = course;
  const until = deletedAt === undefined ? now : Math.min(now, deletedAt);
  const beginsAt = createdAt + scheduling.startedAfterMs;
  const init: ContainerView[] = [];
  let readyAt: number | undefined = beginsAt;
  let failed = false;
  for (const part of course.init) {
    const view = played(part, {
      from: readyAt,
      until,
      policy: course.restartPolicy === 'Never' ? 'Never' : 'OnFailure',
    });
    init.push(view);
    const last = view.lives.at(-1);
    readyAt = last?.exitCode === 0 ? last.finishedAt : undefined;
    failed ||= last?.exitCode !== undefined && last.exitCode !== 0 && !view.restarts;
  }
  const regular = course.regular.map((part) =>
    played(part, { from: failed ? undefined : readyAt, until, policy: course.restartPolicy }),
  );
  const all = [...init, ...regular];
  const running = statusOf({ course, failed, regular, until });
  const changes = all.flatMap(({ lives }) =>
    lives.flatMap(({ startedAt, finishedAt }) => [startedAt, finishedAt ?? 0]),
  );
  const changedAt = Math.max(
    createdAt,
    ...[scheduling.scheduledAfterMs, scheduling.startedAfterMs]
      .map((ms) => createdAt + ms)
      .filter((at) => at <= now),
    ...changes,
  );
  if (deletedAt === undefined || now < deletedAt)
    return { status: running, init, regular, changedAt, gone: false };
  const deletionMs = Math.max(...all.map(({ script }) => script.deletionMs));
  const stopped = (view: ContainerView): ContainerView =>
    stoppedView(view, deletedAt + Math.max(stopMs, deletionMs - stopMs), now);
  return {
    status: 'Terminating',
    init: init.map(stopped),
    regular: regular.map(stopped),
    changedAt: Math.max(deletedAt, changedAt),
    gone: now >= deletedAt + deletionMs,
  };
}

/** A container of a group that is being deleted: its program ends some time after the signal. */
function stoppedView(view: ContainerView, endsAt: number, now: number): ContainerView {
  const last = view.lives.at(-1);
  if (!last || last.finishedAt !== undefined || now < endsAt) return { ...view, restarts: false };
  return {
    ...view,
    restarts: false,
    lives: [...view.lives.slice(0, -1), { ...last, finishedAt: endsAt, exitCode: 143 }],
  };
}

function statusOf({
  course,
  failed,
  regular,
  until,
}: {
  course: Course;
  failed: boolean;
  regular: readonly ContainerView[];
  until: number;
}): string {
  if (until < course.createdAt + scheduling.scheduledAfterMs) return 'Scheduling';
  if (failed) return 'Failed';
  if (regular.every(({ lives }) => lives.length === 0)) return 'Pending';
  const done = regular.every(({ lives, restarts }) => lives.at(-1)?.finishedAt !== undefined && !restarts);
  if (!done) return 'Running';
  return regular.every(({ lives }) => lives.at(-1)?.exitCode === 0) ? 'Succeeded' : 'Failed';
}

function played(
  part: Part,
  { from, until, policy }: { from: number | undefined; until: number; policy: string },
): ContainerView {
  const { script } = part;
  const lives: Life[] = [];
  const again = policy === 'Always' || (policy === 'OnFailure' && script.exitCode !== 0);
  if (script.pullFault !== undefined || from === undefined) return { ...part, lives, restarts: false };
  let startsAt = from;
  for (let delayMs = 10_000; startsAt <= until; delayMs = Math.min(300_000, delayMs * 2)) {
    const endsAt = script.runsMs === undefined ? Number.POSITIVE_INFINITY : startsAt + script.runsMs;
    if (endsAt > until) {
      lives.push({ startedAt: startsAt });
      break;
    }
    lives.push({ startedAt: startsAt, finishedAt: endsAt, exitCode: script.exitCode });
    if (!again) break;
    startsAt = endsAt + delayMs;
  }
  return { ...part, lives, restarts: again };
}
