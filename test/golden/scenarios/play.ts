import { ApiError } from '../../../src/api/client.ts';
import { eventResource, podResource } from '../../../src/api/resources.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import type { Event, Pod } from '../../../src/kube/types.ts';
import type { Bed } from './bed.ts';
import { eventText, type Shown } from './compare.ts';
import { actAtNode, isNodeAct } from './node-acts.ts';
import { namespaceOfScenario, type Scenario, type ScenarioStep } from './recording.ts';
import { livesOf, type PodChange, type PodLife, sameState, type State, withoutUsers } from './states.ts';

/** How long a state may take beyond the time that it took when it was recorded, ms. */
const patienceMs = 20_000;

/** Requests that come and go with timing or belong to no pod; an Event is patched when the same happens again. */
const unsteady = new Set(['list configmaps', 'list secrets', 'get pods', 'patch events']);

/** What a recording shows. */
export function shownBy(scenario: Scenario): Shown {
  const { steps, events = [] } = anonymous(scenario, namespaceOfScenario(scenario));
  const changes = changesOf(steps);
  const pods = new Set(changes.map(({ object }) => `Pod/${object.metadata?.name ?? ''}`));
  const calls = steps
    .filter(({ op }) => op === 'kubelet')
    .map(({ verb = '', resource = '', subresource }) => requestText(verb, resource, subresource));
  return {
    lives: livesOf(changes),
    // of a pod in a namespace that there is not nobody can see any
    events: new Set(
      events.filter(({ verb, object = '' }) => verb === 'create' && pods.has(object)).map(eventText),
    ),
    requests: new Set(calls.filter((call) => !unsteady.has(call))),
  };
}

/** The value with the scenario's namespace, which differs between recordings, left out. */
const anonymous = <T>(value: T, namespace: string): T =>
  JSON.parse(JSON.stringify(value).replaceAll(namespace, '<namespace>')) as T;

const requestText = (verb: string, resource: string, subresource: string | undefined): string =>
  `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;

const changesOf = (steps: readonly ScenarioStep[]): readonly PodChange[] =>
  steps.flatMap(({ op, type, object }) => (op === 'watch' && object ? [{ type: type ?? '', object }] : []));

/** Plays a scenario's requests against the agent, each when the pods are where they were, and tells what was to be seen. */
export async function play(bed: Bed, scenario: Scenario): Promise<Shown> {
  const namespace = namespaceOfScenario(scenario);
  const startsAt = bed.requests.length;
  const stop = new AbortController();
  const changes: PodChange[] = [];
  await setUp(bed, scenario, 'setup');
  // an end by a signal takes the server away before the watch is waited for
  const watching = follow(bed, namespace, changes, stop.signal).catch(() => undefined);
  const milestones = milestonesOf(scenario);
  const startedAt = clock.now();
  let deletedAt = Infinity;
  for (const [step, milestone] of milestones) {
    await reached(changes, milestone, startedAt);
    if (step.method === 'DELETE') deletedAt = Math.min(deletedAt, clock.now());
    await (isNodeAct(step) ? actAtNode(bed, scenario, step) : send(bed, step));
  }
  await reached(changes, endOf(scenario), startedAt);
  await clock.sleep(1500); // Events are written behind
  const { items } = await bed.admin.list<Event>(eventResource, { namespace });
  stop.abort();
  await watching;
  await cleanUp(bed, namespace);
  const requests = bed.requests
    .slice(startsAt)
    .filter((text) => text.startsWith(`${namespace} `))
    .map((text) => text.slice(namespace.length + 1));
  return {
    lives: livesOf(anonymous(changes, namespace)),
    events: eventsOf(anonymous(items, namespace), deletedAt),
    requests: new Set(requests.filter((call) => !unsteady.has(call))),
  };
}

/** What the kubelet told of, each once; what it should have told by a higher count is marked. */
function eventsOf(items: readonly Event[], deletedAt: number): ReadonlySet<string> {
  const told = new Set<string>();
  const byPod = new Set<string>();
  for (const event of items) {
    if (event.source?.component !== 'kubelet' || isCutOff(event, deletedAt)) continue;
    const { fieldPath, uid = '' } = event.involvedObject;
    const text = eventText({ ...event, ...(fieldPath !== undefined && { fieldPath }) });
    const key = `${uid} ${text} ${event.message ?? ''}`;
    told.add(byPod.has(key) ? `${text} (a second Event)` : text);
    byPod.add(key);
  }
  return told;
}

/** Is it of a probe that ended with its container or network? Whether one runs at that moment is chance. */
const isCutOff = ({ message = '', firstTimestamp }: Event, deletedAt: number): boolean =>
  /^Readiness probe (?:failed: (?:$|.*(?:i\/o timeout|no route to host))|errored .* failed to exec in container)/.test(
    message,
  ) && Date.parse(firstTimestamp ?? '') + 1000 > deletedAt;

/** When an action is due. */
interface Milestone {
  /** What the pods had gone through. */
  readonly lives: readonly PodLife[];
  /** When it was done in the recording, seconds since the start. */
  readonly t: number;
  /** When the pods were there in the recording. */
  readonly since: number;
}

/** For each action, what came before it. */
function milestonesOf({ steps }: Scenario): ReadonlyMap<ScenarioStep, Milestone> {
  const changes = changesOf(steps);
  const writes = writesOf(steps);
  const milestones = new Map<ScenarioStep, Milestone>();
  const byTime = (a: ScenarioStep, b: ScenarioStep): number => (a.t ?? 0) - (b.t ?? 0);
  for (const step of steps.filter(({ op }) => op === 'action').sort(byTime)) {
    const { t = 0 } = step;
    const before = writes.filter((write) => write !== step && (write.t ?? 0) < t);
    const lives = withoutUsers(livesOf(changes.slice(0, changesBy(before.length, changes))));
    milestones.set(step, { lives, t, since: before.at(-1)?.t ?? 0 });
  }
  return milestones;
}

/** How many changes so many writes make: one each, but a pod's end comes on top of the change that asked for it. */
function changesBy(writes: number, changes: readonly PodChange[]): number {
  let count = 0;
  for (let write = 0; write < writes; write++) {
    count++;
    if (changes[count]?.type === 'DELETED') count++;
  }
  return count;
}

/** When the recording ends. */
function endOf({ steps }: Scenario): Milestone {
  const t = Math.max(...steps.map((step) => step.t ?? 0));
  return { lives: withoutUsers(livesOf(changesOf(steps))), t, since: writesOf(steps).at(-1)?.t ?? 0 };
}

/** What changed pods, in order of time. */
const writesOf = (steps: readonly ScenarioStep[]): readonly ScenarioStep[] =>
  steps
    .filter(({ op, code, verb, resource, status = 0, path = '' }) =>
      op === 'action'
        ? status < 400 && /\/pods(\/|$)/.test(path)
        : op === 'kubelet' &&
          resource === 'pods' &&
          ((code === 200 && (verb === 'patch' || verb === 'delete')) || (code === 201 && verb === 'create')),
    )
    .sort((a, b) => (a.t ?? 0) - (b.t ?? 0));

/**
 * Waits until the pods have gone through the same states, and then for as long as the recording did: a faster or slower node does as much
 * in between. Where a state was not seen because two changes came in one write, it is enough to be past it; else patience ends.
 */
async function reached(
  changes: readonly PodChange[],
  { lives: wanted, t, since }: Milestone,
  startedAt: number,
): Promise<void> {
  const givesUpAt = startedAt + t * 1000 + patienceMs;
  while (!isThere(changes, wanted)) {
    const seen = changes.length;
    while (changes.length === seen) {
      if (clock.now() >= givesUpAt) return;
      await clock.sleep(20);
    }
  }
  await clock.sleep((t - since) * 1000);
}

function isThere(changes: readonly PodChange[], wanted: readonly PodLife[]): boolean {
  const lives = withoutUsers(livesOf(changes)); // not every runtime tells of them
  return wanted.every((life) => hasGoneThrough(lives, life) || isPast(lives, life));
}

const statesOf = (lives: readonly PodLife[], name: string): readonly State[] =>
  lives.find((life) => life.name === name)?.states ?? [];

/** Was the pod in the last of the states, after those of the others that it was in? */
function hasGoneThrough(lives: readonly PodLife[], { name, states }: PodLife): boolean {
  let next = 0;
  for (const state of statesOf(lives, name)) {
    const at = states.findIndex((each, i) => i >= next && sameState(each, state));
    if (at >= 0) next = at + 1;
  }
  return next === states.length;
}

/** Has one of the pod's containers come further than in the last of the states, and none less far? */
function isPast(lives: readonly PodLife[], { name, states }: PodLife): boolean {
  const [wanted, last] = [states.at(-1) ?? {}, statesOf(lives, name).at(-1) ?? {}];
  if (wanted['deleted'] !== undefined) return last['deleted'] !== undefined;
  if (last['deleted'] !== undefined) return true;
  const steps = Object.keys(wanted)
    .filter((path) => path.endsWith('.restartCount'))
    .map((path) => path.slice(0, -'.restartCount'.length))
    .map((path) => stepOf(last, path) - stepOf(wanted, path));
  return steps.every((step) => step >= 0) && steps.some((step) => step > 0);
}

/** How far a container has come: waits at first, runs, has ended, waits for the next start, runs again … */
function stepOf(state: State, path: string): number {
  const has = (what: string): boolean =>
    Object.keys(state).some((key) => key.startsWith(`${path}.state.${what}`));
  const restarts = Number(state[`${path}.restartCount`] ?? -1);
  const ran = Object.keys(state).some((key) => key.startsWith(`${path}.lastState.terminated`));
  if (has('running')) return restarts * 4 + 1;
  return restarts * 4 + (has('terminated') ? 2 : ran ? 3 : 0);
}

async function setUp(bed: Bed, { steps }: Scenario, op: 'setup'): Promise<void> {
  for (const step of steps.filter((each) => each.op === op)) await send(bed, step);
}

/** Sends a client's request; a refusal is part of the scenario. */
async function send(bed: Bed, { method = 'GET', path = '', body }: ScenarioStep): Promise<void> {
  const contentType = method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json';
  try {
    await bed.admin.raw(path, { method, ...(body && { body, contentType }) });
  } catch (reason) {
    if (!(reason instanceof ApiError) || reason.status === 0) throw reason;
  }
}

async function follow(bed: Bed, namespace: string, changes: PodChange[], signal: AbortSignal): Promise<void> {
  for await (const { type, object } of bed.admin.watch<Pod>(podResource, { namespace, signal }))
    if (type !== 'ERROR' && type !== 'BOOKMARK') changes.push({ type, object });
}

/** Leaves no pod behind, so that the next scenario finds the node free. */
async function cleanUp(bed: Bed, namespace: string): Promise<void> {
  const { items } = await bed.admin.list<Pod>(podResource, { namespace });
  for (const { metadata } of items) {
    const ref = { namespace, name: metadata?.name ?? '' };
    const patch = { type: 'merge', body: { metadata: { finalizers: null } } } as const;
    if (metadata?.finalizers) await bed.admin.patch(podResource, ref, patch).catch(() => undefined);
    await bed.admin.delete(podResource, ref, { gracePeriodSeconds: 0 }).catch(() => undefined);
  }
}
