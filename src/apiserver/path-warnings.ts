import { type JsonObject, objectAt, objectsAt, stringAt } from '../apimachinery/json.ts';

/** A path in a volume, and which source puts a file there. */
interface SourcePath {
  readonly path: string;
  readonly source: string;
}

const text = ({ path, source }: SourcePath): string =>
  source === '' ? JSON.stringify(path) : `${JSON.stringify(path)} (${source})`;

const itemPaths = (holder: JsonObject, source = ''): SourcePath[] =>
  objectsAt(holder, 'items').map((item) => ({ path: stringAt(item, 'path'), source }));

/** Pairs of paths of which one is, or lies in, the other. */
function overlaps(paths: readonly SourcePath[]): string[] {
  const trimmed = paths.map(({ path, source }) => ({ path: path.replace(/\/+$/, ''), source }));
  return trimmed.flatMap((one, i) =>
    trimmed
      .slice(0, i)
      .filter((other) => one.path !== '' && other.path !== '' && meet(one.path, other.path))
      .map((other) => `${text(one)} with ${text(other)}`),
  );
}

const meet = (a: string, b: string): boolean => `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);

function projectedPaths(source: JsonObject): readonly SourcePath[] {
  const [map, secret] = [objectAt(source, 'configMap'), objectAt(source, 'secret')];
  const [token, bundle] = [objectAt(source, 'serviceAccountToken'), objectAt(source, 'clusterTrustBundle')];
  const certificate = objectAt(source, 'podCertificate');
  const bundleName = stringAt(bundle, 'name') || stringAt(bundle, 'signerName');
  const named = (kind: string, holder: JsonObject): string =>
    `${kind} ${JSON.stringify(stringAt(holder, 'name'))}`;
  return [
    ...itemPaths(map, named('ConfigMap', map)),
    ...itemPaths(secret, named('Secret', secret)),
    ...itemPaths(objectAt(source, 'downwardAPI'), 'DownwardAPI'),
    { path: stringAt(token, 'path'), source: 'ServiceAccountToken' },
    { path: stringAt(bundle, 'path'), source: `ClusterTrustBundle ${JSON.stringify(bundleName)}` },
    { path: stringAt(certificate, 'certificateChainPath'), source: 'PodCertificate chain' },
    { path: stringAt(certificate, 'keyPath'), source: 'PodCertificate key' },
    { path: stringAt(certificate, 'credentialBundlePath'), source: 'PodCertificate credential bundle' },
  ].filter(({ path }) => path !== '');
}

/** Files of one volume that stand in each other's way, and projections of nothing. */
export function pathWarnings(volumes: readonly JsonObject[]): string[] {
  return volumes.flatMap((volume) => {
    const head = `volume ${JSON.stringify(stringAt(volume, 'name'))}`;
    const told = (what: string, paths: readonly SourcePath[]): string[] =>
      overlaps(paths).map((pair) => `${head} (${what}): overlapping paths: ${pair}`);
    const [map, secret] = [objectAt(volume, 'configMap'), objectAt(volume, 'secret')];
    const sources = objectsAt(objectAt(volume, 'projected'), 'sources');
    return [
      ...told(`ConfigMap ${JSON.stringify(stringAt(map, 'name'))}`, itemPaths(map)),
      ...told(`Secret ${JSON.stringify(stringAt(secret, 'secretName'))}`, itemPaths(secret)),
      ...told('DownwardAPI', itemPaths(objectAt(volume, 'downwardAPI'))),
      ...sources
        .filter((source) => Object.keys(source).length === 0)
        .map(() => `${head} (Projected) has no sources provided`),
      ...told('Projected', sources.flatMap(projectedPaths)),
    ];
  });
}
