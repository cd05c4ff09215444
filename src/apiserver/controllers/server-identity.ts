import { microTimeText } from '../../kube/time.ts';
import { every } from '../../base/clock.ts';
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { ownMember } from '../../base/own.ts';
import { type JsonObject, specOf } from '../../apimachinery/json.ts';
import { builtIn } from '../../apimachinery/kinds.ts';
import { seconds } from '../../apimachinery/times.ts';
import type { RequestHeaderOptions } from '../authentication/request-headers.ts';
import { keyOf } from '../storage/store.ts';
import type { ControllerDeps } from './controllers.ts';
import { type OwnDeps, putOwn } from './own-objects.ts';

const namespace = 'kube-system';
const leases = builtIn('leases', 'coordination.k8s.io');
const configMaps = builtIn('configmaps');
/** The lease is valid for an hour; kube-apiserver renews it every 10 seconds. */
const leaseSeconds = 3600;
const renewMs = 10 * 60_000;

type Deps = OwnDeps & Pick<ControllerDeps, 'clock'>;

/** Returns the name of the lease of a kube-apiserver on a machine. Follows apiserver `NewConfig` (v1.36). */
function leaseName(host: string): string {
  const sized = (text: string): Buffer[] => {
    const bytes = Buffer.from(text);
    return [Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes];
  };
  const hash = createHash('sha256').update(Buffer.concat([...sized(host), ...sized('kube-apiserver')]));
  return `apiserver-${base32(hash.digest().subarray(0, 16))}`;
}

/** Encodes bytes in lower-case base 32 without padding. */
function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const digits = bits.match(/.{1,5}/g) ?? [];
  return digits.map((five) => 'abcdefghijklmnopqrstuvwxyz234567'[parseInt(five.padEnd(5, '0'), 2)]).join('');
}

/** Keeps the Lease that shows that the server runs, in kube-system. The function that ends it deletes the lease. */
export function keepIdentityLease(deps: Deps): () => void {
  const { store, random } = deps.world;
  const host = hostname();
  const name = leaseName(host);
  store.delete(leases.storage, keyOf(namespace, name));
  const lease = {
    metadata: {
      name,
      namespace,
      labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver', 'kubernetes.io/hostname': host },
    },
    spec: { holderIdentity: `${name}_${random.uuid()}`, leaseDurationSeconds: leaseSeconds },
  };
  const renew = (): void => {
    const renewTime = microTimeText(deps.clock.now());
    const now = { ...lease, spec: { ...lease.spec, renewTime } };
    putOwn(deps, leases, now, (standing) => ({ ...standing, spec: { ...specOf(standing), renewTime } }));
  };
  renew();
  const end = every(deps.clock, renewMs, renew);
  return () => {
    end();
    store.delete(leases.storage, keyOf(namespace, name));
  };
}

/** What extension API servers need to trust this server's users. */
export interface TrustedClients {
  /** Authorities of client certificates, PEM. */
  readonly authorities: string;
  readonly requestHeaders?: RequestHeaderOptions | undefined;
}

/**
 * Keeps two ConfigMaps in kube-system: `extension-apiserver-authentication`, from which extension API servers learn whom to trust, and the date since
 * when legacy tokens are tracked. Follows kube-apiserver's cluster authentication trust and legacy token tracking controllers (v1.36).
 */
export function keepOwnConfigMaps(deps: Deps, trusted: TrustedClients): () => void {
  const { store } = deps.world;
  const data = authenticationData(trusted);
  const since = seconds(deps.clock.now()).slice(0, 10);
  const maps: readonly (readonly [name: string, data: JsonObject, isRight: (has: JsonObject) => boolean])[] =
    [
      [
        'extension-apiserver-authentication',
        data,
        (has) => Object.entries(data).every(([key, value]) => ownMember(has, key) === value),
      ],
      [
        'kube-apiserver-legacy-service-account-token-tracking',
        { since },
        (has) => /^\d{4}-\d\d-\d\d$/.test(String(has['since'])),
      ],
    ];
  const sync = (): void => {
    for (const [name, own, isRight] of maps)
      putOwn(deps, configMaps, { metadata: { name, namespace }, data: own }, (standing) => {
        const has = (standing['data'] ?? {}) as JsonObject;
        return isRight(has) ? standing : { ...standing, data: { ...has, ...own } };
      });
  };
  sync();
  const keys = new Set(maps.map(([name]) => keyOf(namespace, name)));
  return store.onChange((storage, changes) => {
    if (storage === configMaps.storage && changes.some(({ entry }) => keys.has(entry.key))) sync();
  });
}

function authenticationData({ authorities, requestHeaders }: TrustedClients): JsonObject {
  const list = (values: readonly string[]): string => JSON.stringify(values);
  return {
    'client-ca-file': authorities,
    ...(requestHeaders && {
      'requestheader-allowed-names': list(requestHeaders.allowedNames ?? []),
      'requestheader-client-ca-file': requestHeaders.authorities,
      'requestheader-extra-headers-prefix': list(requestHeaders.extraHeaderPrefixes ?? ['X-Remote-Extra-']),
      'requestheader-group-headers': list(requestHeaders.groupHeaders ?? ['X-Remote-Group']),
      'requestheader-uid-headers': list(requestHeaders.uidHeaders ?? ['X-Remote-Uid']),
      'requestheader-username-headers': list(requestHeaders.usernameHeaders ?? ['X-Remote-User']),
    }),
  };
}
