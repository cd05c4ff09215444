import type { NameCheck } from '../kube/validation/metadata.ts';

/** Any text that can stand as one segment of a path. */
export const pathSegment: NameCheck = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((c) => name.includes(c)).map((c) => `may not contain '${c}'`);
};

/** Why an object cannot even be looked up by a name: it would lead out of its path. */
export function lookupFault(name: string): string | undefined {
  const [sign] = /[/%]/.exec(name) ?? [];
  return sign && `invalid resource name ${JSON.stringify(name)}: [may not contain '${sign}']`;
}
