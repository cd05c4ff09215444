import { type FileEvent, ManifestFiles } from '../../../config/manifest-files.ts';
import { check, type Replay } from '../recording.ts';
import { MemoryFiles } from '../support/memory-files.ts';
import { sent } from '../support/sent-pods.ts';

type Op =
  | { readonly op: 'write'; readonly file: string; readonly content?: string }
  | { readonly op: 'remove' | 'mkdir'; readonly file: string }
  | { readonly op: 'removeDir' | 'list' }
  | { readonly op: 'notify'; readonly file: string; readonly event: string };

interface Step {
  readonly op: Op;
  readonly expect: { readonly error?: string; readonly updates?: Parameters<typeof sent>[1][] };
}

/** Changes on disk, listings and notifications; the lists that were sent and the words of each failure. */
export const replay: Replay = async (line) => {
  const fs = new MemoryFiles();
  const { path, root, nodeName } = line as Record<string, string>;
  const dir = `${root}/d`;
  fs.mkdir(root ?? '');
  const files = new ManifestFiles(
    { fs, onError: () => undefined },
    { path: path ?? '', nodeName: nodeName ?? '' },
  );
  for (const [step, { op, expect }] of (line['steps'] as Step[]).entries()) {
    const { pods, fault } = await perform(op, { fs, files, dir });
    const error = expect.error === '<unstable>' && fault ? '<unstable>' : fault?.message;
    const actual = { error, updates: pods ? [sent(pods, expect.updates?.[0])] : [] };
    const mismatch = check(expect, actual, { step, operation: op });
    if (mismatch || (expect.updates ?? []).length !== actual.updates.length)
      return (
        mismatch ?? {
          step,
          operation: op,
          differences: [{ path: 'updates', expected: expect.updates, actual: actual.updates }],
        }
      );
  }
  return undefined;
};

async function perform(
  op: Op,
  { fs, files, dir }: { fs: MemoryFiles; files: ManifestFiles; dir: string },
): ReturnType<ManifestFiles['list']> {
  switch (op.op) {
    case 'list':
      return files.list();
    case 'notify':
      return files.handle(op.event.split('|') as FileEvent[], `${dir}/${op.file}`);
    case 'write':
      fs.remove(`${dir}/${op.file}`);
      fs.write(`${dir}/${op.file}`, op.content ?? '');
      return {};
    case 'mkdir':
      fs.remove(`${dir}/${op.file}`);
      fs.mkdir(`${dir}/${op.file}`);
      return {};
    case 'remove':
      fs.remove(`${dir}/${op.file}`);
      return {};
    case 'removeDir':
      fs.remove(dir);
      return {};
  }
}
