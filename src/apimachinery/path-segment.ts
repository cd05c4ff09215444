import type { NameCheck } from '../kube/validation/metadata.ts';

/** Any text that can stand as one segment of a path. */
export const pathSegment: NameCheck = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((c) => name.includes(c)).map((c) => `may not contain '${c}'`);
};
