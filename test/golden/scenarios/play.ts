import { ApiError } from '../../../src/api/client.ts';
import { eventResource, podResource } from '../../../src/api/resources.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import type { Event, Pod } from '../../../src/kube/types.ts';
import type { Bed } from './bed.ts';
import { eventText, type Shown } from './compare.ts';
import { namespaceOfScenario, type Scenario, type ScenarioStep } from './recording.ts';
import { livesOf, type PodChange, sameState, type State, withoutUsers } from './states.ts';

/** How long a state may take beyond the time that it took when it was recorded, ms. */
const patienceMs = 20_000;

/** Requests that come and go with timing or belong to no pod. */
const unsteady = new Set(['list configmaps', 'list secrets', 'get pods']);

/** What a recording shows. */
export function shownBy(scenario: Scenario): Shown {
  const { steps, events = [] } = anonymous(scenario, namespaceOfScenario(scenario));
  const calls = steps
    .filter(({ op }) => op === 'kubelet')
    .map(({ verb = '', resource = '', subresource }) => requestText(verb, resource, subresource));
  return {
    lives: livesOf(changesOf(steps)),
    events: new Set(events.filter(({ verb }) => verb === 'create').map(eventText)),
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
  const watching = follow(bed, namespace, changes, stop.signal);
  const milestones = milestonesOf(scenario);
  const startedAt = clock.now();
  for (const step of scenario.steps.filter(({ op }) => op === 'action')) {
    const dueAt = startedAt + (step.t ?? 0) * 1000;
    await reached(changes, milestones.get(step), dueAt);
    await send(bed, step);
  }
  const endsAt = startedAt + Math.max(...scenario.steps.map(({ t = 0 }) => t)) * 1000;
  await reached(changes, statesOf(changesOf(scenario.steps)), endsAt);
  await clock.sleep(1500); // Events are written behind
  const { items } = await bed.admin.list<Event>(eventResource, { namespace });
  stop.abort();
  await watching.catch(() => undefined);
  await cleanUp(bed, namespace);
  const requests = bed.requests
    .slice(startsAt)
    .filter((text) => text.startsWith(`${namespace} `))
    .map((text) => text.slice(namespace.length + 1));
  return {
    lives: livesOf(anonymous(changes, namespace)),
    events: new Set(
      anonymous(items, namespace)
        .filter(({ source }) => source?.component === 'kubelet')
        .map(({ involvedObject, ...event }) =>
          eventText({
            ...event,
            ...(involvedObject.fieldPath !== undefined && { fieldPath: involvedObject.fieldPath }),
          }),
        ),
    ),
    requests: new Set(requests.filter((call) => !unsteady.has(call))),
  };
}

/** For each action, the pods' states just before it: one change per write that came earlier. */
function milestonesOf({ steps }: Scenario): ReadonlyMap<ScenarioStep, ReadonlyMap<string, State>> {
  const changes = changesOf(steps);
  const writes = steps
    .filter(({ op, code, verb, resource, status = 0, path = '' }) =>
      op === 'action'
        ? status < 400 && /\/pods(\/|$)/.test(path)
        : op === 'kubelet' && code === 200 && resource === 'pods' && (verb === 'patch' || verb === 'delete'),
    )
    .sort((a, b) => (a.t ?? 0) - (b.t ?? 0));
  const milestones = new Map<ScenarioStep, ReadonlyMap<string, State>>();
  for (const step of steps.filter(({ op }) => op === 'action')) {
    const before = writes.filter((write) => write !== step && (write.t ?? 0) < (step.t ?? 0)).length;
    milestones.set(step, statesOf(changes.slice(0, before)));
  }
  return milestones;
}

/** The last state of each pod. */
function statesOf(changes: readonly PodChange[]): ReadonlyMap<string, State> {
  return new Map(withoutUsers(livesOf(changes)).map(({ name, states }) => [name, states.at(-1) ?? {}]));
}

/** Waits until the pods were in the wanted states and it is time, or patience ends. */
async function reached(
  changes: readonly PodChange[],
  wanted: ReadonlyMap<string, State> | undefined,
  dueAt: number,
): Promise<void> {
  for (;;) {
    const lives = withoutUsers(livesOf(changes)); // not every runtime tells of them
    const isThere = [...(wanted ?? [])].every(([name, state]) =>
      lives.find((life) => life.name === name)?.states.some((each) => sameState(each, state)),
    );
    const now = clock.now();
    if ((isThere && now >= dueAt) || now >= dueAt + patienceMs) return;
    await clock.sleep(50);
  }
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
