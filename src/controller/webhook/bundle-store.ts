import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError } from '../../api/client.ts';
import { readIfThere } from '../../base/files/read-if-there.ts';
import { kinds } from '../kinds.ts';
import type { Client, ObjectKey } from '../types.ts';
import type { CertificateBundle } from './certificate-bundle.ts';

/** Where a bundle is kept between processes. */
export interface BundleStore {
  load(): Promise<CertificateBundle | undefined>;
  /** Resolves to false when another process has stored one since it was loaded. */
  save(bundle: CertificateBundle): Promise<boolean>;
}

const names = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt', caKey: 'ca.key' } as const;
const members = Object.keys(names) as (keyof typeof names)[];

const bundleOf = (read: (name: string) => string | undefined): CertificateBundle | undefined => {
  const bundle = Object.fromEntries(members.map((member) => [member, read(names[member]) ?? '']));
  return Object.values(bundle).every((text) => text === '')
    ? undefined
    : (bundle as unknown as CertificateBundle);
};

/** Keeps a bundle in the files `tls.crt`, `tls.key`, `ca.crt` and `ca.key` of a folder. */
export const folderStore = (folder: string): BundleStore => ({
  load: () => Promise.resolve(bundleOf((name) => readIfThere(join(folder, name)))),
  save: async (bundle) => {
    await mkdir(folder, { recursive: true });
    for (const member of members) {
      const file = join(folder, names[member]);
      const mode = member === 'key' || member === 'caKey' ? 0o600 : 0o644;
      await writeFile(`${file}.new`, bundle[member], { mode });
      await rename(`${file}.new`, file);
    }
    return true;
  },
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** Resolves to nothing where the call fails with one of these statuses. */
const unless = <T>(call: Promise<T>, ...statuses: readonly number[]): Promise<T | undefined> =>
  call.catch((reason: unknown) => {
    if (reason instanceof ApiError && statuses.includes(reason.status)) return undefined;
    throw reason;
  });

/** Keeps a bundle in a Secret of type `kubernetes.io/tls`, which all replicas share. */
export function secretStore(client: Client, key: ObjectKey): BundleStore {
  let resourceVersion: string | undefined;
  return {
    load: async () => {
      const secret = await unless(client.get(kinds.Secret, key), 404);
      resourceVersion = secret?.metadata?.resourceVersion;
      const data: Readonly<Record<string, string>> = secret?.data ?? {};
      return bundleOf((name) =>
        Object.hasOwn(data, name) ? Buffer.from(data[name] ?? '', 'base64').toString() : undefined,
      );
    },
    save: async (bundle) => {
      const secret = {
        metadata: { ...key, ...(resourceVersion !== undefined && { resourceVersion }) },
        type: 'kubernetes.io/tls',
        data: Object.fromEntries(members.map((member) => [names[member], base64(bundle[member])])),
      };
      const written =
        resourceVersion === undefined
          ? client.create(kinds.Secret, secret)
          : client.update(kinds.Secret, secret);
      return (await unless(written, 404, 409)) !== undefined;
    },
  };
}
