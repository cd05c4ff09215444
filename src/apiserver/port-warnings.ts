import { type JsonObject, objectsAt, stringAt } from '../apimachinery/json.ts';

/** A container and where it stands. */
export type Placed = readonly [field: string, container: JsonObject];

interface PlacedPort {
  readonly field: string;
  readonly port: JsonObject;
}

const numberAt = (port: JsonObject, key: string): number => Number(port[key] ?? 0);

/** How Go's `%+v` prints a port. */
const shown = (port: JsonObject): string =>
  `{Name:${stringAt(port, 'name')} HostPort:${numberAt(port, 'hostPort')} ContainerPort:${numberAt(port, 'containerPort')} ` +
  `Protocol:${stringAt(port, 'protocol')} HostIP:${stringAt(port, 'hostIP')}}`;

/** Ports of a pod's containers that are likely not meant so: named, or given to the host, twice. */
export function portWarnings(containers: readonly Placed[]): string[] {
  const ports = containers.flatMap(([at, container]) =>
    objectsAt(container, 'ports').map((port, i): PlacedPort => ({ field: `${at}.ports[${i}]`, port })),
  );
  return [
    ...ports.flatMap((one, i) => [
      ...(stringAt(one.port, 'hostIP') !== '' && numberAt(one.port, 'hostPort') === 0
        ? [`${one.field}: hostIP set without hostPort: ${shown(one.port)}`]
        : []),
      ...ports.slice(0, i).flatMap((other) => clash(one, other)),
    ]),
    ...sameNames(ports),
  ];
}

function clash({ field, port }: PlacedPort, other: PlacedPort): string[] {
  const same = (key: string): boolean => (port[key] ?? '') === (other.port[key] ?? '');
  if (!same('containerPort') || !same('protocol')) return [];
  const [mine, theirs] = [numberAt(port, 'hostPort'), numberAt(other.port, 'hostPort')];
  if (same('hostIP') && mine === theirs) return [`${field}: duplicate port definition with ${other.field}`];
  if (mine === 0 || theirs === 0) return [`${field}: overlapping port definition with ${other.field}`];
  const oneOpen = (stringAt(port, 'hostIP') === '') !== (stringAt(other.port, 'hostIP') === '');
  return mine === theirs && oneOpen
    ? [`${field}: dangerously ambiguous port definition with ${other.field}`]
    : [];
}

function sameNames(ports: readonly PlacedPort[]): string[] {
  const first = new Map<string, string>();
  return ports.flatMap(({ field, port }) => {
    const name = stringAt(port, 'name');
    const other = first.get(name);
    if (name !== '' && other === undefined) first.set(name, field);
    return name === '' || other === undefined
      ? []
      : [
          `${field}: duplicate port name ${JSON.stringify(name)} with ${other}, services and probes that select ports by name will use ${other}`,
        ];
  });
}
