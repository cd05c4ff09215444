import { descriptionOf, eventsOf, type FakeGroup, groupOf, logOf, statusItemOf, tags } from './group.ts';
import { FakeFault, list, type SentParameters, text } from './request.ts';
import { type ContainerView, viewOf } from './timeline.ts';

/** How long an ended group is shown, ms, and how many of them at the most. */
const retention = { endedMs: 3_600_000, ended: 100 };
/** The most that a page holds. */
const largestPage = 20;

/** FakeCloud holds the double's groups and answers questions about them as of a given instant. */
export class FakeCloud {
  readonly #groups = new Map<string, FakeGroup>();
  readonly #byToken = new Map<string, FakeGroup>();
  #serial = 0;
  readonly created: { readonly id: string; readonly uid: string }[] = [];
  /** In how many listings a new group does not show up. */
  hiddenListings = 0;

  /** The groups that are there at `now`, the oldest first. */
  present(now: number): readonly FakeGroup[] {
    this.#purge(now);
    return [...this.#groups.values()];
  }

  /** Makes a group vanish without a trace. */
  forget(groupId: string): void {
    this.#groups.delete(groupId);
  }

  create(parameters: SentParameters, now: number): object {
    require(parameters, ['RegionId', 'SecurityGroupId', 'VSwitchId', 'ContainerGroupName']);
    const containers = list(parameters, 'Container');
    if (containers.length === 0) throw missing('Container.1.Image');
    [...containers, ...list(parameters, 'InitContainer')].forEach((container, at) => {
      for (const name of ['Image', 'Name'])
        if (!text(container, name)) throw missing(`Container.${String(at + 1)}.${name}`);
    });
    checkNames(parameters);
    if (containers.some((container) => (text(container, 'Image') ?? '').endsWith('nostock')))
      throw new FakeFault(
        403,
        'OperationDenied.NoStock',
        'The resource is out of stock in the specified zone.',
      );
    const token = text(parameters, 'ClientToken');
    const earlier = token === undefined ? undefined : this.#byToken.get(token);
    if (earlier) return this.#again(earlier, parameters);
    this.#serial++;
    const id = `eci-${String(this.#serial).padStart(8, '0')}`;
    const ip = `10.0.${String(Math.floor(this.#serial / 250))}.${String((this.#serial % 250) + 1)}`;
    const group = groupOf(parameters, { id, ip, now, hiddenListings: this.hiddenListings });
    this.#groups.set(id, group);
    this.created.push({ id, uid: group.uid });
    if (token !== undefined) this.#byToken.set(token, group);
    return { ContainerGroupId: id };
  }

  delete(parameters: SentParameters, now: number): object {
    const group = this.#named(parameters, now);
    if (group.course.deletedAt === undefined)
      this.#groups.set(group.id, { ...group, course: { ...group.course, deletedAt: now } });
    return {};
  }

  restart(parameters: SentParameters, now: number): object {
    const group = this.#named(parameters, now);
    const { status } = viewOf(group.course, now);
    if (status !== 'Pending' && status !== 'Running')
      throw new FakeFault(
        403,
        'IncorrectStatus',
        `The group is ${status}; only Pending and Running groups can be restarted.`,
      );
    this.#groups.set(group.id, { ...group, course: { ...group.course, createdAt: now } });
    return {};
  }

  update(parameters: SentParameters, now: number): object {
    const { id, ip } = this.#named(parameters, now);
    const group = this.#groups.get(id);
    const merged = { ...group?.parameters, ...parameters };
    this.#groups.set(id, {
      ...groupOf(merged, { id, ip, now, hiddenListings: 0 }),
      token: group?.token ?? '',
    });
    return {};
  }

  describe(parameters: SentParameters, now: number): object {
    require(parameters, ['RegionId']);
    const withEvent = text(parameters, 'WithEvent') === 'true';
    return this.#page(parameters, now, {
      member: 'ContainerGroups',
      view: (group) => descriptionOf(group, now, withEvent),
    });
  }

  describeStatus(parameters: SentParameters, now: number): object {
    require(parameters, ['RegionId']);
    const since = text(parameters, 'SinceSecond');
    const from = since === undefined ? Number.NEGATIVE_INFINITY : now - Number(since) * 1000;
    const counts = ({ course }: FakeGroup): boolean => viewOf(course, now).changedAt >= from;
    return this.#page(parameters, now, { member: 'Data', view: (group) => statusItemOf(group, now), counts });
  }

  describeEvents(parameters: SentParameters, now: number): object {
    require(parameters, ['RegionId']);
    return this.#page(parameters, now, {
      member: 'Data',
      view: (group) => ({
        ContainerGroupId: group.id,
        uuid: group.uid,
        Events: eventsOf(group, viewOf(group.course, now)),
      }),
    });
  }

  log(parameters: SentParameters, now: number): object {
    const { container } = this.#container(parameters, now);
    const life = container.lives.at(text(parameters, 'LastTime') === 'true' ? -2 : -1);
    if (!life) throw new FakeFault(400, 'ContainerNotReady', 'The container has not started.');
    const start = Date.parse(text(parameters, 'StartTime') ?? '');
    const seconds = Number(text(parameters, 'SinceSeconds') ?? Number.NaN);
    const since = Math.max(Number.isNaN(start) ? 0 : start, Number.isNaN(seconds) ? 0 : now - seconds * 1000);
    const tail = Number(text(parameters, 'Tail') ?? 2000);
    const stamps = text(parameters, 'Timestamps') === 'true';
    const lines = logOf(container, life, now)
      .filter(({ at }) => at >= since)
      .slice(-tail)
      .map(({ at, text: line }) => `${stamps ? `${new Date(at).toISOString()} ` : ''}${line}\n`);
    return { ContainerName: container.name, Content: lines.join('') };
  }

  metrics(parameters: SentParameters, now: number): object {
    require(parameters, ['RegionId', 'ContainerGroupIds']);
    const ids = new Set(JSON.parse(text(parameters, 'ContainerGroupIds') ?? '[]') as string[]);
    const found = this.present(now).filter(({ id }) => ids.has(id));
    return {
      MonitorDatas: found.map(({ id, course }) => ({
        ContainerGroupId: id,
        Records: [recordOf(viewOf(course, now).regular, now)],
      })),
    };
  }

  /** The container that a call names. @throws {FakeFault} the group or the container is not there */
  container(parameters: SentParameters, now: number): ContainerView {
    const { container } = this.#container(parameters, now);
    const life = container.lives.at(-1);
    if (life && life.finishedAt === undefined) return container;
    throw new FakeFault(400, 'ContainerNotRunning', `Container ${container.name} does not run.`);
  }

  #container(parameters: SentParameters, now: number): { readonly container: ContainerView } {
    const group = this.#named(parameters, now);
    const { init, regular } = viewOf(group.course, now);
    const name = text(parameters, 'ContainerName');
    const container = [...init, ...regular].find((one) => one.name === name);
    if (container) return { container };
    throw new FakeFault(404, 'InvalidContainerName.NotFound', `There is no container ${name ?? ''}.`);
  }

  #again(earlier: FakeGroup, parameters: SentParameters): object {
    if (JSON.stringify(earlier.parameters) === JSON.stringify(parameters))
      return { ContainerGroupId: earlier.id };
    throw new FakeFault(
      400,
      'IdempotentParameterMismatch',
      'The client token was used with other parameters.',
    );
  }

  #named(parameters: SentParameters, now: number): FakeGroup {
    require(parameters, ['RegionId', 'ContainerGroupId']);
    this.#purge(now);
    const group = this.#groups.get(text(parameters, 'ContainerGroupId') ?? '');
    if (group) return group;
    throw new FakeFault(
      404,
      'InvalidContainerGroupId.NotFound',
      'The specified container group does not exist.',
    );
  }

  /** A page begins behind the group that its token names, so that changes between pages shift nothing. */
  #page(parameters: SentParameters, now: number, { member, view, counts = () => true }: PageShape): object {
    const matches = filterOf(parameters, now);
    const limit = Math.min(largestPage, Number(text(parameters, 'Limit') ?? largestPage));
    const after = text(parameters, 'NextToken') ?? '';
    const all = this.present(now).filter(
      (group) => isVisible(group, after === '') && matches(group) && counts(group),
    );
    const rest = all.filter(({ id }) => id > after);
    const page = rest.slice(0, limit);
    const last = page.at(-1);
    return {
      [member]: page.map(view),
      TotalCount: all.length,
      ...(rest.length > limit && last && { NextToken: last.id }),
    };
  }

  #purge(now: number): void {
    const ended: FakeGroup[] = [];
    for (const group of this.#groups.values()) {
      const { gone, status, changedAt } = viewOf(group.course, now);
      const over = status === 'Succeeded' || status === 'Failed';
      if (gone || (over && now - changedAt > retention.endedMs)) this.#groups.delete(group.id);
      else if (over) ended.push(group);
    }
    for (const { id } of ended.slice(0, Math.max(0, ended.length - retention.ended))) this.#groups.delete(id);
  }
}

/** What a page holds. */
interface PageShape {
  readonly member: string;
  readonly view: (group: FakeGroup) => object;
  /** Which groups belong on it; default: all. */
  readonly counts?: (group: FakeGroup) => boolean;
}

/** A group that is still hidden shows up one listing later. */
function isVisible(group: FakeGroup, firstPage: boolean): boolean {
  if (group.hiddenListings === 0) return true;
  if (firstPage) group.hiddenListings--;
  return false;
}

function filterOf(parameters: SentParameters, now: number): (group: FakeGroup) => boolean {
  const expected = tags(parameters);
  const ids = text(parameters, 'ContainerGroupIds');
  const named = ids === undefined ? undefined : new Set(JSON.parse(ids) as string[]);
  const status = text(parameters, 'Status');
  return (group) => {
    const own = tags(group.parameters);
    return (
      [...expected].every(([key, value]) => own.get(key) === value) &&
      (named?.has(group.id) ?? true) &&
      (status === undefined || viewOf(group.course, now).status === status)
    );
  };
}

function recordOf(containers: readonly ContainerView[], now: number): object {
  const running = containers.filter(
    ({ lives }) => lives.at(-1) !== undefined && lives.at(-1)?.finishedAt === undefined,
  );
  const mebi = 1024 * 1024;
  return {
    Timestamp: new Date(now).toISOString(),
    Containers: running.map(({ name, lives }) => ({
      Name: name,
      CPU: {
        UsageNanoCores: 5_000_000,
        UsageCoreNanoSeconds: (now - (lives.at(-1)?.startedAt ?? now)) * 5000,
      },
      Memory: { UsageBytes: 24 * mebi, WorkingSet: 20 * mebi, Rss: 16 * mebi },
    })),
  };
}

function require(parameters: SentParameters, names: readonly string[]): void {
  for (const name of names) if (!text(parameters, name)) throw missing(name);
}

const missing = (name: string): FakeFault =>
  new FakeFault(400, 'MissingParameter', `The parameter ${name} is mandatory for this action.`);

/** All parameters of `CreateContainerGroup` that the service documents and the double accepts. */
const createParameters = new Set(
  (
    'AcrRegistryInfo ActiveDeadlineSeconds AutoCreateEip AutoMatchImageCache ClientToken Container ContainerGroupName CorePattern Cpu ' +
    'CpuArchitecture CpuOptionsCore DnsConfig DnsPolicy DryRun EgressBandwidth EipBandwidth EipInstanceId EphemeralStorage HostAliase ' +
    'HostName HostSecurityContext ImageRegistryCredential ImageSnapshotId IngressBandwidth InitContainer InstanceType Ipv6AddressCount ' +
    'Memory NtpServer RamRoleName RegionId ResourceGroupId RestartPolicy ScheduleStrategy SecurityContext SecurityGroupId ' +
    'ShareProcessNamespace SpotDuration SpotPriceLimit SpotStrategy Tag TerminationGracePeriodSeconds VSwitchId Volume ZoneId'
  ).split(' '),
);

/** The protocol's own parameters, which travel in the query with the classic signature. */
const protocolParameters =
  /^(Action|Format|Version|Timestamp|Signature|SignatureNonce|SignatureMethod|SignatureVersion|SignatureType|AccessKeyId|SecurityToken)$/;

/** isProtocolParameter tells whether a parameter belongs to the protocol and not to the action. */
export const isProtocolParameter = (name: string): boolean => protocolParameters.test(name);

function checkNames(parameters: SentParameters): void {
  const unknown = Object.keys(parameters).find(
    (name) => !createParameters.has(name) && !isProtocolParameter(name),
  );
  if (unknown !== undefined)
    throw new FakeFault(400, 'InvalidParameter', `The parameter ${unknown} is not known.`);
  if (list(parameters, 'Tag').length > 20)
    throw new FakeFault(400, 'InvalidParameter.TagNumber', 'A group has at most 20 tags.');
  for (const volume of list(parameters, 'Volume'))
    if (!text(volume, 'Name') || !text(volume, 'Type')) throw missing('Volume.n.Name and Volume.n.Type');
}
