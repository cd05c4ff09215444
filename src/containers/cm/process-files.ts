import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** What the kernel tells of processes, below `/proc`. Paths are absolute. */
export interface ProcessFiles {
  /** `undefined`: it is not there any more, or not for us. */
  read(path: string): string | undefined;
  /** Where the links in a folder lead; none when it is not there any more. */
  links(path: string): readonly string[];
}

const unlessGone = <T>(act: () => T): T | undefined => {
  try {
    return act();
  } catch {
    return undefined;
  }
};

/** The kernel's own: it answers from memory, so nothing here waits for a disk. */
export const kernelProcessFiles: ProcessFiles = {
  read: (path) => unlessGone(() => readFileSync(path, 'utf8')),
  links: (path) =>
    (unlessGone(() => readdirSync(path)) ?? []).flatMap(
      (name) => unlessGone(() => readlinkSync(`${path}/${name}`)) ?? [],
    ),
};
