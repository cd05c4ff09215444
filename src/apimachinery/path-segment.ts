import type { NameCheck } from '../kube/validation/metadata.ts';

/** Validates a text as a path segment. */
export const pathSegment: NameCheck = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((c) => name.includes(c)).map((c) => `may not contain '${c}'`);
};

/** Returns why a name cannot be looked up: it would leave its path. */
export function lookupFault(name: string): string | undefined {
  const [sign] = /[/%]/.exec(name) ?? [];
  return sign && `invalid resource name ${JSON.stringify(name)}: [may not contain '${sign}']`;
}
