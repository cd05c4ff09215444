import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  certificatesIn,
  renewalTime,
  renewedBundle,
} from '../../../src/controller/webhook/certificate-bundle.ts';

const day = 24 * 3_600_000;
const now = Date.parse('2026-01-01T00:00:00Z');
const template = {
  hosts: ['w.ns.svc', '10.0.0.1'],
  validity: 90 * day,
  caValidity: 365 * day,
  renewBefore: 30 * day,
};

describe('renewedBundle', () => {
  const first = renewedBundle(undefined, now, template);

  test('1 a new certificate is signed by a new authority for all hosts', () => {
    const leaf = new X509Certificate(first.cert);
    expect(leaf.verify(new X509Certificate(first.ca).publicKey)).toBe(true);
    expect([leaf.checkHost('w.ns.svc'), leaf.checkIP('10.0.0.1')]).toEqual(['w.ns.svc', '10.0.0.1']);
    expect(renewalTime(first, template)).toBe(now + 60 * day);
  });

  test('2 it is kept until it has to be renewed, then the same authority signs another', () => {
    expect(renewedBundle(first, now + 59 * day, template)).toBe(first);
    const second = renewedBundle(first, now + 61 * day, template);
    expect(second).toMatchObject({ ca: first.ca, caKey: first.caKey });
    expect(second.cert).not.toBe(first.cert);
  });

  test('3 an authority is replaced while it can still sign; clients trust both until the old one expires', () => {
    const later = now + 280 * day;
    const second = renewedBundle(first, later, template);
    expect(certificatesIn(second.ca)).toHaveLength(2);
    expect(certificatesIn(second.ca)[1]).toBe(first.ca);
    const [signer = ''] = certificatesIn(second.ca);
    expect(new X509Certificate(second.cert).verify(new X509Certificate(signer).publicKey)).toBe(true);
    const third = renewedBundle(second, later + 300 * day, template);
    expect(certificatesIn(third.ca)).toHaveLength(2);
    expect(third.ca).not.toContain(first.ca);
  });

  test('4 other hosts, another key, or what is no certificate make a new one', () => {
    const hosts = [...template.hosts, 'more.ns.svc'];
    expect(renewedBundle(first, now, { ...template, hosts }).ca).toBe(first.ca);
    expect(renewedBundle(first, now, { ...template, hosts }).cert).not.toBe(first.cert);
    const other = renewedBundle(undefined, now, template);
    expect(renewedBundle({ ...first, key: other.key }, now, template).cert).not.toBe(first.cert);
    expect(renewedBundle({ ...first, caKey: other.caKey }, now, template).ca).not.toBe(first.ca);
    expect(
      certificatesIn(renewedBundle({ cert: 'x', key: 'y', ca: 'z', caKey: '' }, now, template).ca),
    ).toHaveLength(1);
  });
});
