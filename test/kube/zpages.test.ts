import { expect, test } from 'vitest';
import { acceptedForm, flagzPage, statuszPage, zpageObject, zpageTypes } from '../../src/kube/zpages.ts';

const object = ';g=config.k8s.io;v=v1beta1;as=Flagz';

const forms: readonly (readonly [string, object | undefined])[] = [
  ['', { type: 'text/plain' }],
  ['text/html, */*', { type: 'text/plain' }],
  [`application/json${object}, text/plain`, { type: 'application/json', version: 'v1beta1' }],
  [`Application/*${object}`, { type: 'application/json', version: 'v1beta1' }],
  [`application/yaml${object}`, { type: 'application/yaml', version: 'v1beta1' }],
  ['application/json', undefined],
  ['application/json;g=config.k8s.io;v=v2;as=Flagz', undefined],
  ['application/json;g=config.k8s.io;v=v1beta1;as=Statusz', undefined],
];
test.for(forms)('Accept %j selects %j', ([accept, form]) => {
  expect(acceptedForm(accept, 'Flagz', zpageTypes)).toEqual(form);
});

test('/flagz lists settings by name', () => {
  const page = flagzPage('kubelet', { 'node-name': 'n', address: '0.0.0.0' });
  expect(page.text).toMatch(/^\nkubelet flagz\nWarning: /);
  expect(page.text).toMatch(/purposes only\.\naddress:0\.0\.0\.0\nnode-name:n\n$/);
});

test('/statusz tells the start in Go’s format, and the uptime', () => {
  const program = { startedAt: Date.UTC(2026, 0, 2, 3, 4, 5), runtimeVersion: 'node24', version: '1.36.2' };
  const page = statuszPage('kubelet', program, ['/flagz'], Date.UTC(2026, 0, 3, 4, 6, 8));
  expect(page.text.split('\n').slice(3)).toEqual([
    '',
    'Started: Fri Jan  2 03:04:05 UTC 2026',
    'Up: 25 hr 02 min 03 sec',
    'Go version: node24',
    'Binary version: 1.36.2',
    'Emulation version: 1.36',
    'Paths: /flagz',
    '',
  ]);
});

test('the older version of an object is deprecated', () => {
  const page = flagzPage('apiserver', {});
  const {
    contentType,
    object: body,
    warning,
  } = zpageObject(page, { type: 'application/json', version: 'v1alpha1' });
  expect(contentType).toBe('application/json;g=config.k8s.io;v=v1alpha1;as=Flagz');
  expect(body).toMatchObject({
    kind: 'Flagz',
    apiVersion: 'config.k8s.io/v1alpha1',
    metadata: { name: 'apiserver' },
  });
  expect(warning).toMatch(/^This version of the flagz endpoint is deprecated\./);
  expect(zpageObject(page, { type: 'application/json', version: 'v1beta1' })).not.toHaveProperty('warning');
});
