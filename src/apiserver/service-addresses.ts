import type { Random } from '../base/random.ts';
import { objectAt, objectsAt, stringAt } from './json.ts';
import { fault, invalid } from './status-error.ts';
import type { Store } from './store.ts';
import type { ServiceAddresses } from './strategy.ts';

const [firstPort, lastPort] = [30_000, 32_767];

/** Cluster addresses out of `10.97.0.0/16` and node ports out of 30000 to 32767: in use are those of the stored services. */
export function serviceAddresses(store: Store, random: Random, prefix = '10.97'): ServiceAddresses {
  const reserved = new Set<string>();
  const used = (): Set<string> =>
    new Set([...store.list('services')].map(({ object }) => stringAt(objectAt(object, 'spec'), 'clusterIP')));
  const ports = (): Set<number> =>
    new Set(
      [...store.list('services')].flatMap(({ object }) =>
        objectsAt(objectAt(object, 'spec'), 'ports').map((port) => Number(port['nodePort'] ?? 0)),
      ),
    );
  return {
    allocate(wanted = '') {
      const taken = used();
      if (wanted !== '') {
        if (!wanted.startsWith(`${prefix}.`))
          throw invalid('Service', undefined, '', [
            fault.invalid(
              'spec.clusterIPs',
              [wanted],
              `failed to allocate IP ${wanted}: the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${prefix}.0.0/16`,
            ),
          ]);
        if (taken.has(wanted))
          throw invalid('Service', undefined, '', [
            fault.invalid(
              'spec.clusterIPs',
              [wanted],
              `failed to allocate IP ${wanted}: provided IP is already allocated`,
            ),
          ]);
        return wanted;
      }
      for (;;) {
        const address = `${prefix}.${Math.floor(random.float() * 256)}.${1 + Math.floor(random.float() * 254)}`;
        if (!taken.has(address) && !reserved.has(address)) return address;
      }
    },
    release(address) {
      reserved.delete(address);
    },
    nodePort(wanted) {
      const taken = ports();
      if (wanted) {
        if (wanted < firstPort || wanted > lastPort)
          throw invalid('Service', undefined, '', [
            fault.invalid(
              'spec.ports[0].nodePort',
              wanted,
              `provided port is not in the valid range. The range of valid ports is ${firstPort}-${lastPort}`,
            ),
          ]);
        if (taken.has(wanted))
          throw invalid('Service', undefined, '', [
            fault.invalid('spec.ports[0].nodePort', wanted, 'provided port is already allocated'),
          ]);
        return wanted;
      }
      for (;;) {
        const port = firstPort + Math.floor(random.float() * (lastPort - firstPort + 1));
        if (!taken.has(port)) return port;
      }
    },
  };
}
