import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** ProcessFiles reads the kernel's process information below `/proc`. Paths are absolute. */
export interface ProcessFiles {
  /** Returns the text of a file; `undefined` when it no longer exists or access is denied. */
  read(path: string): string | undefined;
  /** Returns the targets of the links in a directory; empty when it no longer exists. */
  links(path: string): readonly string[];
}

const unlessGone = <T>(act: () => T): T | undefined => {
  try {
    return act();
  } catch {
    return undefined;
  }
};

/** The kernel's `/proc`. Calls are synchronous: the kernel answers from memory. */
export const kernelProcessFiles: ProcessFiles = {
  read: (path) => unlessGone(() => readFileSync(path, 'utf8')),
  links: (path) =>
    (unlessGone(() => readdirSync(path)) ?? []).flatMap(
      (name) => unlessGone(() => readlinkSync(`${path}/${name}`)) ?? [],
    ),
};
