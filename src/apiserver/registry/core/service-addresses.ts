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
  const free = (used: ReadonlySet<string>): string | undefined => {
    const start = below(range.count);
    for (let i = 0; i < range.count; i++) {
      const address = range.at((start + i) % range.count);
      if (!used.has(address) && address !== own) return address;
    }
    return undefined;
  };
  return {
    first: own,
    range: range.text,
    allocate(name, requested = '') {
      const used = new Set(specs().map((spec) => stringAt(spec, 'clusterIP')));
      const address = requested === '' ? free(used) : requestedAddress(name, requested, { used, range });
      if (address === undefined) throw internalError('failed to allocate a serviceIP: range is full');
      if (name === '') throw unowned(requested, address);
      return address;
    },
    nodePort(name, requested, use = 'traffic') {
      const used = new Set(
        specs().flatMap((spec) => [
          Number(spec['healthCheckNodePort'] ?? 0),
          ...objectsAt(spec, 'ports').map((port) => Number(port['nodePort'] ?? 0)),
        ]),
      );
      if (requested)
        return use === 'health' ? requestedHealthPort(requested, used) : requestedPort(name, requested, used);
      for (;;) {
        const port = firstPort + below(lastPort - firstPort + 1);
        if (!used.has(port)) return port;
      }
    },
  };
}

/** Returns the error for a service without a name: an address is stored under its service's name. */
function unowned(requested: string, address: string): Error {
  const what = ['failed to allocate IP', requested].filter(Boolean).join(' ');
  const why = `IPAddress.networking.k8s.io "${address}" is invalid: spec.parentRef.name: Required value`;
  return refused('', 'spec.clusterIPs', [requested], `${what}: ${why}`);
}

function requestedAddress(
  name: string,
  requested: string,
  { used, range }: { readonly used: ReadonlySet<string>; readonly range: ServiceRange },
): string {
  const isInside = range.has(requested);
  const why = isInside
    ? 'provided IP is already allocated'
    : `the provided IP (${requested}) is not in the valid range. The range of valid IPs is ${range.text}`;
  if (!isInside || used.has(requested))
    throw refused(name, 'spec.clusterIPs', [requested], `failed to allocate IP ${requested}: ${why}`);
  return requested;
}

function requestedPort(name: string, requested: number, used: ReadonlySet<number>): number {
  const why = portFault(requested, used);
  if (why !== undefined) throw refused(name, 'spec.ports[0].nodePort', requested, why);
  return requested;
}

/** Returns why a node port is not available. */
function portFault(port: number, used: ReadonlySet<number>): string | undefined {
  if (port < firstPort || port > lastPort)
    return `provided port is not in the valid range. The range of valid ports is ${firstPort}-${lastPort}`;
  return used.has(port) ? 'provided port is already allocated' : undefined;
}

/** Returns a requested health check port; kube-apiserver reports an unavailable one as an internal error. */
function requestedHealthPort(requested: number, used: ReadonlySet<number>): number {
  const why = portFault(requested, used);
  if (why === undefined) return requested;
  throw internalError(`failed to allocate requested HealthCheck NodePort ${requested}: ${why}`);
}
