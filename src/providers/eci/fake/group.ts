import { list, type SentParameters, text } from './request.ts';
import {
  type ContainerView,
  type Course,
  type CourseView,
  type Life,
  type Part,
  scriptOf,
  viewOf,
} from './timeline.ts';

/** A group of the double. */
export interface FakeGroup {
  readonly id: string;
  readonly name: string;
  /** The pod's UID, as the tag `UID` says. */
  readonly uid: string;
  readonly token: string;
  /** The parameters of its creation, nested. */
  readonly parameters: SentParameters;
  readonly course: Course;
  readonly ip: string;
  /** In how many more listings it does not show up. */
  hiddenListings: number;
}

/** groupOf makes a group of the parameters of `CreateContainerGroup`. */
export function groupOf(
  parameters: SentParameters,
  {
    id,
    ip,
    now,
    hiddenListings,
  }: { readonly id: string; readonly ip: string; readonly now: number; readonly hiddenListings: number },
): FakeGroup {
  const part =
    (kind: 'init' | 'regular') =>
    (container: SentParameters): Part => {
      const image = text(container, 'Image') ?? '';
      return { name: text(container, 'Name') ?? '', image, script: scriptOf(image, kind) };
    };
  return {
    id,
    ip,
    hiddenListings,
    name: text(parameters, 'ContainerGroupName') ?? '',
    uid: tags(parameters).get('UID') ?? '',
    token: text(parameters, 'ClientToken') ?? '',
    parameters,
    course: {
      createdAt: now,
      restartPolicy: text(parameters, 'RestartPolicy') ?? 'Always',
      init: list(parameters, 'InitContainer').map(part('init')),
      regular: list(parameters, 'Container').map(part('regular')),
    },
  };
}

/** tags are the tags of a call's parameters. */
export const tags = (parameters: SentParameters): ReadonlyMap<string, string> =>
  new Map(list(parameters, 'Tag').map((tag) => [text(tag, 'Key') ?? '', text(tag, 'Value') ?? '']));

const time = (at: number | undefined): string =>
  at === undefined ? '' : `${new Date(at).toISOString().slice(0, 19)}Z`;

/** descriptionOf is the group as `DescribeContainerGroups` shows it at `now`. */
export function descriptionOf(group: FakeGroup, now: number, withEvent: boolean): object {
  const view = viewOf(group.course, now);
  const { parameters } = group;
  return {
    ContainerGroupId: group.id,
    ContainerGroupName: group.name,
    RegionId: text(parameters, 'RegionId') ?? '',
    ZoneId: `${text(parameters, 'RegionId') ?? ''}-a`,
    Status: view.status,
    RestartPolicy: group.course.restartPolicy,
    CreationTime: time(group.course.createdAt),
    SucceededTime: view.status === 'Succeeded' ? time(view.changedAt) : '',
    FailedTime: view.status === 'Failed' ? time(view.changedAt) : '',
    ExpiredTime: '',
    IntranetIp: view.status === 'Scheduling' ? '' : group.ip,
    Tags: [...tags(parameters)].map(([Key, Value]) => ({ Key, Value })),
    // the service shows no containers of a group that was not scheduled yet
    ...(view.status === 'Scheduling'
      ? {}
      : { InitContainers: view.init.map(containerOf), Containers: view.regular.map(containerOf) }),
    ...(withEvent && { Events: eventsOf(group, view) }),
  };
}

/** statusItemOf is the group as `DescribeContainerGroupStatus` shows it at `now`. */
export function statusItemOf(group: FakeGroup, now: number): object {
  const view = viewOf(group.course, now);
  const all = view.status === 'Scheduling' ? [] : [...view.init, ...view.regular];
  return {
    ContainerGroupId: group.id,
    uuid: group.uid,
    Name: tags(group.parameters).get('PodName') ?? '',
    Namespace: tags(group.parameters).get('NameSpace') ?? '',
    Status: view.status,
    PodStatus: {
      Phase: view.status === 'Scheduling' ? 'Pending' : view.status,
      PodIp: view.status === 'Scheduling' ? '' : group.ip,
      StartTime: time(group.course.createdAt),
      ContainerStatuses: all.map((container) => {
        const { current, previous, restarts } = livesOf(container);
        return {
          Name: container.name,
          Image: container.image,
          Ready: isReady(container),
          RestartCount: restarts,
          State: memberOf(container, current),
          LastState: previous ? memberOf(container, previous) : {},
        };
      }),
    },
  };
}

const isReady = ({ script, lives }: ContainerView): boolean =>
  script.ready && lives.at(-1) !== undefined && lives.at(-1)?.finishedAt === undefined;

/** The life that is shown as current (none while the container waits), the one before, and the restarts so far. */
function livesOf({ lives, restarts }: ContainerView): { current?: Life; previous?: Life; restarts: number } {
  const last = lives.at(-1);
  const waits = last?.finishedAt !== undefined && restarts;
  const current = waits ? undefined : last;
  const previous = waits ? last : lives.at(-2);
  return {
    ...(current && { current }),
    ...(previous && { previous }),
    restarts: Math.max(0, lives.length - 1),
  };
}

function memberOf(container: ContainerView, life: Life | undefined): object {
  if (!life) return { Waiting: waitingOf(container) };
  if (life.finishedAt === undefined) return { Running: { StartedAt: time(life.startedAt) } };
  return {
    Terminated: {
      ExitCode: life.exitCode ?? 0,
      Reason: life.exitCode === 0 ? 'Completed' : 'Error',
      StartedAt: time(life.startedAt),
      FinishedAt: time(life.finishedAt),
    },
  };
}

function waitingOf({ script, lives }: ContainerView): { Reason: string; Message: string } {
  if (script.pullFault !== undefined)
    return { Reason: script.pullFault, Message: 'Back-off pulling image: not found' };
  if (lives.length > 0)
    return { Reason: 'CrashLoopBackOff', Message: 'back-off restarting failed container' };
  return { Reason: 'ContainerCreating', Message: '' };
}

function containerOf(container: ContainerView): object {
  const { current, previous, restarts } = livesOf(container);
  return {
    Name: container.name,
    Image: container.image,
    Ready: isReady(container),
    RestartCount: restarts,
    CurrentState: stateOf(container, current),
    ...(previous && { PreviousState: stateOf(container, previous) }),
  };
}

function stateOf(container: ContainerView, life: Life | undefined): object {
  if (!life) return { State: 'Waiting', ...waitingOf(container) };
  if (life.finishedAt === undefined)
    return { State: 'Running', StartTime: time(life.startedAt), DetailStatus: '' };
  return {
    State: 'Terminated',
    StartTime: time(life.startedAt),
    FinishTime: time(life.finishedAt),
    ExitCode: life.exitCode ?? 0,
    Reason: life.exitCode === 0 ? 'Completed' : 'Error',
  };
}

/** eventsOf are the group's events so far. */
export function eventsOf(group: FakeGroup, view: CourseView): readonly object[] {
  const event = (at: number, Type: string, Reason: string, Message: string): object => ({
    Name: `${group.id}.${Reason.toLowerCase()}`,
    Type,
    Reason,
    Message,
    Count: 1,
    FirstTimestamp: time(at),
    LastTimestamp: time(at),
  });
  const { createdAt } = group.course;
  const scheduled =
    view.status === 'Scheduling'
      ? []
      : [event(createdAt + 1000, 'Normal', 'SuccessfulHitImageCache', 'the image was found in a cache')];
  const faults = [...view.init, ...view.regular]
    .filter(({ script }) => script.pullFault !== undefined && view.status !== 'Scheduling')
    .map(({ image }) =>
      event(createdAt + 2000, 'Warning', 'Failed', `Failed to pull image "${image}": not found`),
    );
  return [...scheduled, ...faults];
}

/** logOf are the lines that a life of a container has written by `now`: one at its start and one each second, at most 1,000. */
export function logOf(
  { image }: ContainerView,
  life: Life,
  now: number,
): readonly { readonly at: number; readonly text: string }[] {
  const end = Math.min(now, life.finishedAt ?? now);
  const seconds = Math.min(999, Math.floor((end - life.startedAt) / 1000));
  const lines = Array.from({ length: seconds + 1 }, (_, second) => ({
    at: life.startedAt + second * 1000,
    text: second === 0 ? `${image} started` : `line ${String(second)}`,
  }));
  return lines;
}
