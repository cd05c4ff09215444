import { expect, test } from 'vitest';
import { type OomKill, OomParser, systemOomMessage } from '../../src/node/oom-watcher.ts';

const killsIn = (...lines: readonly string[]): readonly OomKill[] => {
  const parser = new OomParser();
  return lines.flatMap((line) => parser.feed(line) ?? []);
};
const begins = 'stress invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0';
const noise = 'Mem-Info:';

test('a machine that runs out of memory', () => {
  expect(
    killsIn(
      begins,
      noise,
      'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=stress,pid=42,uid=0',
      'Out of memory: Killed process 42 (stress) total-vm:1kB, anon-rss:1kB',
    ),
  ).toEqual([{ process: 'stress', pid: 42, cgroup: '/' }]);
});

test('a cgroup that runs out of its memory, as newer and older kernels tell it', () => {
  const newer =
    'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1/c,task=tail,pid=7,uid=1000';
  expect(killsIn(begins, newer, 'Memory cgroup out of memory: Killed process 7 (tail)')).toEqual([
    { process: 'tail', pid: 7, cgroup: '/kubepods/pod1' },
  ]);
  const older = 'Task in /kubepods/pod1/c killed as a result of limit of /kubepods/pod1';
  expect(killsIn(begins, older, 'Killed process 7 (tail) total-vm:1kB')).toEqual([
    { process: 'tail', pid: 7, cgroup: '/kubepods/pod1' },
  ]);
});

test('what is about no such kill is none; two are two', () => {
  expect(killsIn(noise, 'Killed process 1 (other)')).toEqual([]);
  const one = [begins, 'Killed process 1 (a)'];
  expect(killsIn(...one, noise, ...one)).toHaveLength(2);
});

test('the Event names the victim where it is known', () => {
  expect(systemOomMessage({ process: 'a', pid: 1, cgroup: '/' })).toBe(
    'System OOM encountered, victim process: a, pid: 1',
  );
  expect(systemOomMessage({ process: '', pid: 0, cgroup: '/' })).toBe('System OOM encountered');
});
