import type { Random } from '../../../base/random.ts';
import { type JsonObject, objectAt, objectsAt, stringAt } from '../../../apimachinery/json.ts';
import { fault, internalError, invalid } from '../../../apimachinery/status-error.ts';
import type { Store } from '../../storage/store.ts';
import type { ServiceAddresses } from '../../request/write-context.ts';
import { ServiceRange } from './service-range.ts';

/** The range without an option. */
const defaultRange = ServiceRange.of('10.97.0.0/16');
const [firstPort, lastPort] = [30_000, 32_767];

const refused = (name: string, field: string, value: unknown, why: string): Error =>
  invalid('Service', undefined, name, [fault.invalid(field, value, why)]);

/** Allocates cluster addresses in a range, and node ports from 30000 to 32767; those of stored services are in use. */
export function serviceAddresses(
  store: Store,
  random: Random,
  range: ServiceRange = defaultRange,
): ServiceAddresses {
  const specs = (): JsonObject[] => [...store.list('services')].map(({ object }) => objectAt(object, 'spec'));
  const below = (most: number): number => Math.floor(random.float() * most);
  const own = range.first;
  const free = (taken: ReadonlySet<string>): string | undefined => {
    const start = below(range.count);
    for (let i = 0; i < range.count; i++) {
      const address = range.at((start + i) % range.count);
      if (!taken.has(address) && address !== own) return address;
    }
    return undefined;
  };
  return {
    first: own,
    allocate(name, wanted = '') {
      const taken = new Set(specs().map((spec) => stringAt(spec, 'clusterIP')));
      const address = wanted === '' ? free(taken) : givenAddress(name, wanted, { taken, range });
      if (address === undefined) throw internalError('failed to allocate a serviceIP: range is full');
      if (name === '') throw unowned(wanted, address);
      return address;
    },
    nodePort(name, wanted, use = 'traffic') {
      const taken = new Set(
        specs().flatMap((spec) => [
          Number(spec['healthCheckNodePort'] ?? 0),
          ...objectsAt(spec, 'ports').map((port) => Number(port['nodePort'] ?? 0)),
        ]),
      );
      if (wanted) return use === 'health' ? givenHealthPort(wanted, taken) : givenPort(name, wanted, taken);
      for (;;) {
        const port = firstPort + below(lastPort - firstPort + 1);
        if (!taken.has(port)) return port;
      }
    },
  };
}

/** Returns the error for a service without a name: an address is stored under its service's name. */
function unowned(wanted: string, address: string): Error {
  const what = ['failed to allocate IP', wanted].filter(Boolean).join(' ');
  const why = `IPAddress.networking.k8s.io "${address}" is invalid: spec.parentRef.name: Required value`;
  return refused('', 'spec.clusterIPs', [wanted], `${what}: ${why}`);
}

function givenAddress(
  name: string,
  wanted: string,
  { taken, range }: { readonly taken: ReadonlySet<string>; readonly range: ServiceRange },
): string {
  const isInside = range.has(wanted);
  const why = isInside
    ? 'provided IP is already allocated'
    : `the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${range.text}`;
  if (!isInside || taken.has(wanted))
    throw refused(name, 'spec.clusterIPs', [wanted], `failed to allocate IP ${wanted}: ${why}`);
  return wanted;
}

function givenPort(name: string, wanted: number, taken: ReadonlySet<number>): number {
  const why = portFault(wanted, taken);
  if (why !== undefined) throw refused(name, 'spec.ports[0].nodePort', wanted, why);
  return wanted;
}

/** Returns why a node port is not available. */
function portFault(wanted: number, taken: ReadonlySet<number>): string | undefined {
  if (wanted < firstPort || wanted > lastPort)
    return `provided port is not in the valid range. The range of valid ports is ${firstPort}-${lastPort}`;
  return taken.has(wanted) ? 'provided port is already allocated' : undefined;
}

/** Returns a requested health check port; kube-apiserver reports an unavailable one as an internal error. */
function givenHealthPort(wanted: number, taken: ReadonlySet<number>): number {
  const why = portFault(wanted, taken);
  if (why === undefined) return wanted;
  throw internalError(`failed to allocate requested HealthCheck NodePort ${wanted}: ${why}`);
}
