import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { detectIsolation, type Isolation, isolationKinds } from '../../../src/providers/oci/isolation.ts';

let dir: string;
const uid = process.getuid?.() ?? 0;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-isolation-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const detect = (kind: (typeof isolationKinds)[number] | 'auto', user = uid): Promise<Isolation> =>
  detectIsolation({ kind, dir, uid: user, shell: '/bin/sh' });

test('the best kind that works here is chosen, with the reason why each better one does not', async () => {
  const works: string[] = [];
  const reasons: string[] = [];
  for (const kind of isolationKinds)
    await detect(kind).then(
      (found) => {
        expect(found.kind).toBe(kind);
        works.push(kind);
      },
      (reason: unknown) => reasons.push(String(reason)),
    );
  for (const reason of reasons)
    expect(reason).toMatch(/no isolation for containers: \w+: .+ Install util-linux/);
  const [best] = works;
  expect(works).toContain('none');
  if (best === 'none') await expect(detect('auto')).rejects.toThrow('no isolation for containers');
  else {
    const found = await detect('auto');
    expect(found.kind).toBe(best);
    expect(found.lacking.map((line) => line.split(':')[0])).toEqual(
      isolationKinds.slice(
        0,
        isolationKinds.findIndex((kind) => kind === best),
      ),
    );
  }
  expect(readdirSync(dir)).toEqual([]);
});

test('a kind that is demanded and does not work is refused with its reason; none is only taken when it is demanded', async () => {
  await expect(detect('chroot', 1000)).rejects.toMatchObject({
    code: 'failed_precondition',
    message: expect.stringMatching(
      /^no isolation for containers: chroot: the agent is not root\. .*\(ociIsolation: none\)$/,
    ) as unknown,
  });
  expect((await detect('none', 1000)).kind).toBe('none');
});
