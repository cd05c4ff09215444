import { ownMember } from '../../base/own.ts';
import { downwardFile } from './downward-api.ts';
import { type Faults, forbidden, invalid, invalidEach, oneOf, required } from './field-error.ts';
import { dns1123Subdomain, qualifiedNameRule } from './name-rules.ts';
import { annotationsSize } from './metadata.ts';
import { fileMode, labelSelector, nonReservedPath, type Selector, textOf } from './shared.ts';
import { keyToPath } from './keys-to-paths.ts';
import { internalForm } from './internal-spec.ts';
import { isKubernetesSigner, signerName } from './signer-name.ts';

type Source = Readonly<Record<string, unknown>>;

/** Validates one kind of projected source; `field` is the source, `volume` the projected volume. */
type ProjectionRule = (at: Place, source: Source) => Faults;

interface Place {
  readonly volume: string;
  readonly field: string;
  /** Paths of other sources. */
  readonly paths: Set<string>;
}

/** Validates a projected volume. */
export function* validateProjected(field: string, projected: Source): Faults {
  yield* fileMode(`${field}.defaultMode`, projected['defaultMode'] as number | undefined);
  const paths = new Set<string>();
  for (const [i, source] of ((projected['sources'] ?? []) as readonly Source[]).entries()) {
    const at = `${field}.sources[${i}]`;
    let seen = 0;
    for (const [kind, rule] of Object.entries(rules)) {
      const part = ownMember(source, kind) as Source | undefined;
      if (part === undefined) continue;
      seen++;
      yield* rule({ volume: field, field: `${at}.${kind}`, paths }, part);
    }
    if (seen > 1) yield forbidden(at, 'may not specify more than 1 volume type per source');
  }
}

/** Rejects conflicting paths except those of tokens; `shown` is the path in the message. */
function* reserve({ volume, paths }: Place, path: string, shown = path): Faults {
  if (paths.has(path)) yield invalid(volume, shown, 'conflicting duplicate paths');
  paths.add(path);
}

const keyed: ProjectionRule = function* (at, source) {
  if (textOf(source, 'name') === '') yield required(`${at.field}.name`);
  for (const [i, item] of ((source['items'] ?? []) as readonly Source[]).entries()) {
    yield* keyToPath(`${at.field}.items[${i}]`, item);
    const path = textOf(item, 'path');
    if (path !== '') yield* reserve(at, path, textOf(source, 'name'));
  }
};

const downwardApi: ProjectionRule = function* (at, source) {
  for (const item of (source['items'] ?? []) as readonly Source[]) {
    yield* downwardFile(at.field, item);
    const path = textOf(item, 'path');
    if (path !== '') yield* reserve(at, path);
  }
};

const leastTokenSeconds = 600;

const token: ProjectionRule = function* (at, source) {
  const seconds = source['expirationSeconds'] as number | undefined;
  if (seconds !== undefined && seconds < leastTokenSeconds)
    yield invalid(
      `${at.field}.expirationSeconds`,
      seconds,
      'may not specify a duration less than 10 minutes',
    );
  if (seconds !== undefined && seconds > 2 ** 32)
    yield invalid(
      `${at.field}.expirationSeconds`,
      seconds,
      'may not specify a duration larger than 2^32 seconds',
    );
  const path = textOf(source, 'path');
  if (path === '') yield required(`${at.volume}.path`);
  else yield* nonReservedPath(`${at.volume}.path`, path);
};

const trustBundle: ProjectionRule = function* (at, source) {
  const [name, signer] = [source['name'] as string | undefined, source['signerName'] as string | undefined];
  const selector = source['labelSelector'] as Selector | undefined;
  if (name !== undefined && signer !== undefined)
    yield invalid(at.field, internalForm('Bundle', source), 'only one of name and signerName may be used');
  else if (name !== undefined) yield* bundleName(at.field, name, selector);
  else if (signer !== undefined) {
    if (signer === '') yield required(`${at.field}.signerName`, 'must be a valid signer name');
    yield* signerName(`${at.field}.signerName`, signer);
    yield* labelSelector(`${at.field}.labelSelector`, selector);
  } else yield required(at.field, 'either name or signerName must be specified');
  const path = textOf(source, 'path');
  if (path === '') yield required(`${at.field}.path`);
  else yield* nonReservedPath(`${at.field}.path`, path);
  yield* reserve(at, path);
};

/** Checks that the name of a bundle begins with its signer, if it has one. Follows Kubernetes `ValidateClusterTrustBundleName`. */
function* bundleName(field: string, name: string, selector: Selector | undefined): Faults {
  if (name === '') yield required(`${field}.name`, 'must be a valid object name');
  const own = dns1123Subdomain(name.slice(name.lastIndexOf(':') + 1));
  for (const why of own) yield invalid(`${field}.name`, name, `not a valid clustertrustbundlename: ${why}`);
  if (selector)
    yield invalid(`${field}.labelSelector`, selector, 'labelSelector must be unset if name is specified');
}

const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];

const certificate: ProjectionRule = function* (at, source) {
  yield* signerName(`${at.field}.signerName`, textOf(source, 'signerName'));
  yield* userAnnotations(
    `${at.field}.userAnnotations`,
    source['userAnnotations'] as Readonly<Record<string, string>> | undefined,
  );
  yield* oneOf(`${at.field}.keyType`, textOf(source, 'keyType'), keyTypes);
  yield* certificateLifetime(
    `${at.field}.maxExpirationSeconds`,
    source['maxExpirationSeconds'] as number | undefined,
    isKubernetesSigner(textOf(source, 'signerName')) ? 86_400 : 7_862_400,
  );
  const keys = ['credentialBundlePath', 'keyPath', 'certificateChainPath'];
  for (const key of keys) {
    const path = textOf(source, key);
    if (path === '') continue;
    yield* nonReservedPath(`${at.field}.${key}`, path);
    yield* reserve(at, path);
  }
  if (keys.every((key) => textOf(source, key) === ''))
    yield required(
      at.field,
      'specify at least one of credentialBundlePath, keyPath, and certificateChainPath',
    );
};

/** Validates `userAnnotations`: keys need a domain, in any case. Follows Kubernetes `ValidateUserAnnotations`. */
function* userAnnotations(field: string, map: Readonly<Record<string, string>> | undefined): Faults {
  for (const key of Object.keys(map ?? {}).toSorted()) yield* domainPrefixedKey(field, key.toLowerCase());
  yield* annotationsSize(field, map);
}

function* domainPrefixedKey(field: string, key: string): Faults {
  if (key === '') return yield required(field);
  const faults = qualifiedNameRule(key);
  yield* invalidEach(field, key, faults);
  if (faults.length === 0 && !key.includes('/'))
    yield invalid(field, key, 'must be a domain-prefixed key (such as "acme.io/foo")');
}

function* certificateLifetime(field: string, seconds: number | undefined, most: number): Faults {
  if (seconds === undefined) return;
  if (seconds < 3600) yield invalid(field, seconds, 'if provided, maxExpirationSeconds must be >= 3600');
  if (seconds > most) yield invalid(field, seconds, `if provided, maxExpirationSeconds must be <= ${most}`);
}

const rules: Readonly<Record<string, ProjectionRule>> = {
  secret: keyed,
  configMap: keyed,
  downwardAPI: downwardApi,
  serviceAccountToken: token,
  clusterTrustBundle: trustBundle,
  podCertificate: certificate,
};
