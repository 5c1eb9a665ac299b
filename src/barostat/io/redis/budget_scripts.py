"""The shared budget's scripts, each of which Redis carries out whole or not at all.

    {ns}:held        hash   budget -> tokens held by all gateways
    {ns}:leases      zset   gateway -> steady time at which its lease ends
    {ns}:of:GATEWAY  hash   reservation -> {budget: tokens}
    {ns}:clock       hash   wall, steady: milliseconds

The steady clock is Redis's own, counted in steps of at most one beat: a clock that is set forward
ends no lease, one that is set back holds none for ever, and while no gateway is there time stands
still. The braces keep all keys in one slot of a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

REDIS_TIME = "redis.call('TIME')"

_SHARED = """
local ns, gateway, lease_ms, beat_ms = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local held_key, leases_key, clock_key = ns .. ':held', ns .. ':leases', ns .. ':clock'
local function of(one) return ns .. ':of:' .. one end
local function steady_now()
  local time = @TIME@
  local wall = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local seen = redis.call('HMGET', clock_key, 'wall', 'steady')
  local steady = tonumber(seen[2] or 0) or 0
  if seen[1] then steady = steady + math.max(0, math.min(wall - tonumber(seen[1]), beat_ms)) end
  redis.call('HSET', clock_key, 'wall', wall, 'steady', steady)
  return steady
end
local function give(one, reservation)
  local found = redis.call('HGET', of(one), reservation)
  if not found then return 0 end
  redis.call('HDEL', of(one), reservation)
  for budget, tokens in pairs(cjson.decode(found)) do
    if redis.call('HINCRBY', held_key, budget, -tokens) <= 0 then redis.call('HDEL', held_key, budget) end
  end
  return 1
end
local function hold(reservation, amounts)
  redis.call('HSET', of(gateway), reservation, cjson.encode(amounts))
  for budget, tokens in pairs(amounts) do redis.call('HINCRBY', held_key, budget, tokens) end
end
local function leave(one)
  for _, reservation in ipairs(redis.call('HKEYS', of(one))) do give(one, reservation) end
  redis.call('ZREM', leases_key, one)
end
local function reap(at)
  for _, one in ipairs(redis.call('ZRANGEBYSCORE', leases_key, '-inf', at)) do leave(one) end
end
"""

_TAKE = """
local reservation, claims = ARGV[4], cjson.decode(ARGV[5])
reap(steady_now())
if not redis.call('ZSCORE', leases_key, gateway) then return {'no-lease'} end
if redis.call('HEXISTS', of(gateway), reservation) == 1 then return {'taken'} end
local amounts = {}
for budget, claim in pairs(claims) do
  local held = tonumber(redis.call('HGET', held_key, budget) or 0)
  if held + claim[1] > claim[2] then return {'full', budget, held} end
  if claim[1] > 0 then amounts[budget] = claim[1] end
end
hold(reservation, amounts)
return {'taken'}
"""

_GIVE_BACK = """
return give(gateway, ARGV[4])
"""

_BEAT = """
local highest, live = tonumber(ARGV[4]), cjson.decode(ARGV[5])
local at, restored = steady_now(), 0
redis.call('ZADD', leases_key, at + lease_ms, gateway)
reap(at)
for _, reservation in ipairs(redis.call('HKEYS', of(gateway))) do
  if live[reservation] == nil and tonumber(reservation) <= highest then give(gateway, reservation) end
end
for reservation, amounts in pairs(live) do
  if type(amounts) == 'table' and redis.call('HEXISTS', of(gateway), reservation) == 0 then
    hold(reservation, amounts)
    restored = restored + 1
  end
end
return restored
"""

_LEAVE = """
leave(gateway)
return 1
"""


@dataclass(frozen=True, slots=True)
class BudgetScripts:
    """The texts. `take`: all claims or none. `beat`: the lease goes on, and what Redis holds for
    this gateway is what lives there.

    A reservation above `highest` is newer than the beat and is left alone; one whose amounts are
    not a table is under way, and neither taken away nor restored.
    """

    take: str
    give_back: str
    beat: str
    leave: str


def scripts(time: str = REDIS_TIME) -> BudgetScripts:
    """The scripts with this Lua expression as their clock: seconds and microseconds."""
    shared = _SHARED.replace("@TIME@", time)
    return BudgetScripts(shared + _TAKE, shared + _GIVE_BACK, shared + _BEAT, shared + _LEAVE)
