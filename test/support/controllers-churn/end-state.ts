import { type Client, kinds, type KubeObject, type ObjectOf } from '../../../src/controller/index.ts';

type Conditions = readonly { readonly type: string; readonly status: string; readonly reason?: string }[];

/** What the objects of a namespace have come to: one line each, the same for any implementation of the controllers. */
export interface EndState {
  readonly lines: readonly string[];
  /** What is not yet, or not at all, as it should be. */
  readonly pending: readonly string[];
}

const nameOf = ({ metadata }: KubeObject): string => metadata?.name ?? '';
const ownerOf = ({ metadata }: KubeObject): string | undefined =>
  metadata?.ownerReferences?.find(({ controller }) => controller === true)?.uid;
const said = (conditions: Conditions | undefined): string =>
  (conditions ?? [])
    .map(({ type, status, reason }) => `${type}=${status}(${reason ?? ''})`)
    .sort()
    .join(' ');

/** Objects of a namespace, by kind. */
interface Objects {
  readonly deployments: readonly ObjectOf<typeof kinds.Deployment>[];
  readonly sets: readonly ObjectOf<typeof kinds.ReplicaSet>[];
  readonly stateful: readonly ObjectOf<typeof kinds.StatefulSet>[];
  readonly daemons: readonly ObjectOf<typeof kinds.DaemonSet>[];
  readonly jobs: readonly ObjectOf<typeof kinds.Job>[];
  readonly pods: readonly ObjectOf<typeof kinds.Pod>[];
}

/** Reads what has become of the objects of a namespace. */
export async function endState(client: Client, namespace: string): Promise<EndState> {
  const objects: Objects = {
    deployments: await client.list(kinds.Deployment, { namespace }),
    sets: await client.list(kinds.ReplicaSet, { namespace }),
    stateful: await client.list(kinds.StatefulSet, { namespace }),
    daemons: await client.list(kinds.DaemonSet, { namespace }),
    jobs: await client.list(kinds.Job, { namespace }),
    pods: await client.list(kinds.Pod, { namespace }),
  };
  const pending: string[] = [];
  const check = (what: string, isSo: boolean): void => {
    if (!isSo) pending.push(what);
  };
  const lines = [
    ...objects.deployments.map((one) => deploymentLine(one, objects, check)),
    ...objects.stateful.map((one) => statefulLine(one, objects, check)),
    ...objects.daemons.map((one) => daemonLine(one, objects, check)),
    ...objects.jobs.map((one) => jobLine(one, objects, check)),
  ];
  checkOwners(objects, check);
  return { lines: lines.sort(), pending };
}

type Check = (what: string, isSo: boolean) => void;

const podsOf = ({ pods }: Objects, owner: KubeObject): readonly ObjectOf<typeof kinds.Pod>[] =>
  pods.filter((pod) => ownerOf(pod) === owner.metadata?.uid);

function deploymentLine(one: Objects['deployments'][number], objects: Objects, check: Check): string {
  const name = `Deployment ${nameOf(one)}`;
  const { replicas, updatedReplicas = 0, availableReplicas = 0, observedGeneration } = one.status ?? {};
  const wanted = one.spec?.replicas;
  check(`${name}: generation`, observedGeneration === one.metadata?.generation);
  const counts = [replicas ?? 0, updatedReplicas, availableReplicas].join('/');
  check(`${name}: ${counts} of ${wanted}`, counts === [wanted, wanted, wanted].join('/'));
  const own = objects.sets.filter((set) => ownerOf(set) === one.metadata?.uid);
  const active = own.filter(({ spec }) => (spec?.replicas ?? 0) > 0);
  check(`${name}: ${active.length} ReplicaSets have pods`, active.length === (wanted === 0 ? 0 : 1));
  check(`${name}: history`, own.length <= 11);
  const pods = active.flatMap((set) => podsOf(objects, set));
  check(`${name}: ${pods.length} pods`, pods.length === wanted);
  return `${name} replicas=${wanted} set=${active.map(nameOf).join()} ${said(one.status?.conditions)}`;
}

function statefulLine(one: Objects['stateful'][number], objects: Objects, check: Check): string {
  const name = `StatefulSet ${nameOf(one)}`;
  const {
    replicas = 0,
    readyReplicas = 0,
    currentRevision,
    updateRevision,
    observedGeneration,
  } = one.status ?? {};
  const wanted = one.spec?.replicas ?? 1;
  check(`${name}: generation`, observedGeneration === one.metadata?.generation);
  check(
    `${name}: ${replicas}/${readyReplicas} of ${wanted}`,
    replicas === wanted && readyReplicas === wanted,
  );
  check(`${name}: revision ${currentRevision} is not ${updateRevision}`, currentRevision === updateRevision);
  const pods = podsOf(objects, one).map(nameOf).sort();
  const expected = Array.from({ length: wanted }, (_, at) => `${nameOf(one)}-${at}`);
  check(`${name}: pods ${pods.join()}`, pods.join() === expected.join());
  return `${name} replicas=${wanted} revision=${updateRevision}`;
}

function daemonLine(one: Objects['daemons'][number], objects: Objects, check: Check): string {
  const name = `DaemonSet ${nameOf(one)}`;
  const { desiredNumberScheduled, numberReady, updatedNumberScheduled, numberMisscheduled } =
    one.status ?? {};
  const counts = [numberReady, updatedNumberScheduled ?? 0, podsOf(objects, one).length].join('/');
  check(`${name}: generation`, one.status?.observedGeneration === one.metadata?.generation);
  const all = Number(desiredNumberScheduled);
  check(`${name}: ${counts} of ${all}`, all > 0 && counts === [all, all, all].join('/'));
  return `${name} desired=${all} misscheduled=${numberMisscheduled}`;
}

function jobLine(one: Objects['jobs'][number], objects: Objects, check: Check): string {
  const name = `Job ${nameOf(one)}`;
  const conditions = said(one.status?.conditions);
  check(`${name}: has not ended: ${conditions}`, /(Complete|Failed)=True/.test(conditions));
  const { active = 0, ready = 0, terminating = 0, uncountedTerminatedPods = {} } = one.status ?? {};
  check(
    `${name}: counts`,
    active + ready + terminating === 0 && Object.keys(uncountedTerminatedPods).length === 0,
  );
  const held = podsOf(objects, one).filter(({ metadata }) => (metadata?.finalizers ?? []).length > 0);
  check(`${name}: ${held.length} pods have a finalizer`, held.length === 0);
  const succeeded = conditions.includes('Complete=True') ? one.status?.succeeded : 'some';
  // Suspended stays as False once it was true, whenever that was seen
  return `${name} succeeded=${succeeded} ${conditions.replace(/ ?Suspended=\S+/, '')}`;
}

/** No pod and no ReplicaSet outlives its owner, and nothing is being deleted for ever. */
function checkOwners({ deployments, sets, stateful, daemons, jobs, pods }: Objects, check: Check): void {
  const all: readonly KubeObject[] = [...deployments, ...sets, ...stateful, ...daemons, ...jobs];
  const uids = new Set(all.map(({ metadata }) => metadata?.uid));
  for (const object of [...pods, ...sets]) {
    const owner = ownerOf(object);
    check(`${nameOf(object)}: its owner does not exist`, owner === undefined || uids.has(owner));
  }
  for (const object of [...all, ...pods])
    check(`${nameOf(object)}: is being deleted`, object.metadata?.deletionTimestamp === undefined);
}
