-- SPDX-License-Identifier: BSD-3-Clause
-- Dissector for wireshark and tshark of the protocol of plenum-protocol(7), in captures by 'plenum capture' or by any
-- other program:
-- or copy this file to ~/.local/lib/wireshark/plugins. It recognizes packets by their first two bytes on any port.
-- It detects from the packets whether a session is protected, unless the preference says so. Encrypted data are shown
-- as such, or decrypted with the keys that 'plenum capture --keys' wrote:
-- A captured packet may be truncated, so the authentication tags are not checked.

local plenum = Proto("plenum", "Plenum Data Plane")
local MAGIC, VERSION = 0xa7, 2

local types = {
	[1] = "HELLO", [2] = "CHALLENGE", [3] = "ACCEPT", [4] = "REFUSE", [5] = "RESET", [6] = "CLOSE",
	[7] = "DATA", [8] = "ACK", [9] = "PING", [10] = "GRANT", [11] = "JOIN", [12] = "JOINED",
	[13] = "VERSIONS", [14] = "LABEL", [15] = "SHARE",
}
-- Types of packets that carry a tag in a protected session.
local protected_types = {
	[6] = true, [7] = true, [8] = true, [9] = true, [10] = true, [11] = true, [12] = true,
	[14] = true, [15] = true,
}
local securities = { [0] = "none", [1] = "auth", [2] = "encrypt" }
local ciphers = { [0] = "in clear", [1] = "AESGCM", [2] = "ChaChaPoly" }
local opcodes = {
	[1] = "LOOKUP", [2] = "FORGET", [3] = "GETATTR", [4] = "SETATTR", [5] = "READLINK", [6] = "SYMLINK",
	[8] = "MKNOD", [9] = "MKDIR", [10] = "UNLINK", [11] = "RMDIR", [12] = "RENAME", [13] = "LINK",
	[14] = "OPEN", [15] = "READ", [16] = "WRITE", [17] = "STATFS", [18] = "RELEASE", [20] = "FSYNC",
	[21] = "SETXATTR", [22] = "GETXATTR", [23] = "LISTXATTR", [24] = "REMOVEXATTR", [25] = "FLUSH",
	[26] = "INIT", [27] = "OPENDIR", [28] = "READDIR", [29] = "RELEASEDIR", [30] = "FSYNCDIR",
	[31] = "GETLK", [32] = "SETLK", [33] = "SETLKW", [34] = "ACCESS", [35] = "CREATE", [36] = "INTERRUPT",
	[37] = "BMAP", [38] = "DESTROY", [39] = "IOCTL", [40] = "POLL", [42] = "BATCH_FORGET",
	[43] = "FALLOCATE", [44] = "READDIRPLUS", [45] = "RENAME2", [46] = "LSEEK", [47] = "COPY_FILE_RANGE",
	[48] = "SETUPMAPPING", [49] = "REMOVEMAPPING", [50] = "SYNCFS", [51] = "TMPFILE", [52] = "STATX",
}

local f = {
	magic = ProtoField.uint8("plenum.magic", "Magic", base.HEX),
	version = ProtoField.uint8("plenum.version", "Version", base.DEC, nil, 0xf0),
	type = ProtoField.uint8("plenum.type", "Type", base.DEC, types, 0x0f),
	path = ProtoField.uint8("plenum.path", "Path", base.DEC, nil, 0x07),
	phase = ProtoField.uint8("plenum.phase", "Phase of the key", base.DEC, nil, 0x80),
	flags = ProtoField.uint8("plenum.flags", "Flags", base.HEX),
	response = ProtoField.bool("plenum.flags.response", "Response", 8, nil, 0x01),
	ack_block = ProtoField.bool("plenum.flags.ack_block", "Acknowledgement block", 8, nil, 0x04),
	want_ack = ProtoField.bool("plenum.flags.want_ack", "Wants an ACK", 8, nil, 0x08),
	need = ProtoField.bool("plenum.flags.need", "Announces a request", 8, nil, 0x10),
	standby = ProtoField.bool("plenum.flags.standby", "Standby path", 8, nil, 0x01),
	prove = ProtoField.bool("plenum.flags.prove", "Path is to be proven", 8, nil, 0x01),
	heard = ProtoField.bool("plenum.flags.heard", "Heard", 8, nil, 0x01),
	address = ProtoField.bool("plenum.flags.address", "Carries an address", 8, nil, 0x02),
	of_source = ProtoField.bool("plenum.flags.source", "Of a source port", 8, nil, 0x04),
	session = ProtoField.uint64("plenum.session", "Session", base.HEX),
	pn = ProtoField.uint32("plenum.pn", "Packet number, serial or stamp", base.DEC),
	security = ProtoField.string("plenum.security", "Guarded by"),
	tag = ProtoField.bytes("plenum.tag", "Tag"),
	sealed = ProtoField.bytes("plenum.sealed", "Encrypted"),
	deciphered = ProtoField.bool("plenum.deciphered", "Deciphered"),
	client_number = ProtoField.uint64("plenum.hello.number", "Client's number", base.HEX),
	cookie = ProtoField.uint64("plenum.cookie", "Cookie", base.HEX),
	cipher = ProtoField.uint8("plenum.cipher", "Cipher", base.DEC, ciphers),
	body_len = ProtoField.uint16("plenum.body_len", "Length of the body", base.DEC),
	body = ProtoField.bytes("plenum.body", "Body"),
	identity = ProtoField.uint64("plenum.identity", "Identity", base.HEX),
	former = ProtoField.uint64("plenum.hello.former", "Replaces session", base.HEX),
	server_number = ProtoField.uint64("plenum.accept.number", "Server's number", base.HEX),
	epoch = ProtoField.uint32("plenum.epoch", "Epoch", base.DEC),
	mtu = ProtoField.uint16("plenum.mtu", "MTU", base.DEC),
	slots = ProtoField.uint16("plenum.slots", "Slots", base.DEC),
	token = ProtoField.bytes("plenum.token", "Token"),
	wanted = ProtoField.uint8("plenum.wanted_security", "Security", base.DEC, securities),
	credit = ProtoField.uint32("plenum.credit", "Credit", base.DEC),
	addr = ProtoField.string("plenum.addr", "Address"),
	error = ProtoField.uint32("plenum.refuse.error", "Error", base.DEC),
	text = ProtoField.string("plenum.refuse.text", "Text"),
	spoken = ProtoField.uint8("plenum.versions.spoken", "Spoken version", base.DEC),
	stamp = ProtoField.uint32("plenum.stamp", "Stamp", base.DEC),
	label = ProtoField.uint32("plenum.label", "Label", base.HEX),
	source = ProtoField.uint8("plenum.source", "Source", base.DEC),
	source_port = ProtoField.uint16("plenum.source.port", "Heard from port", base.DEC),
	share = ProtoField.uint32("plenum.share", "Share", base.DEC),
	report_top = ProtoField.uint32("plenum.report.top", "Highest packet number that arrived", base.DEC),
	report_arrived = ProtoField.uint32("plenum.report.arrived", "Packets that arrived", base.DEC),
	report_probes = ProtoField.uint32("plenum.report.probes", "Lost MTU probes of the sender", base.DEC),
	report_rtt = ProtoField.uint32("plenum.report.rtt", "Round trip, us", base.DEC),
	gen = ProtoField.uint32("plenum.gen", "Generation", base.DEC),
	slot = ProtoField.uint16("plenum.slot", "Slot", base.DEC),
	chunk = ProtoField.uint16("plenum.chunk", "First chunk", base.DEC),
	msg_len = ProtoField.uint32("plenum.msg_len", "Length of the message", base.DEC),
	chunk_bytes = ProtoField.uint16("plenum.chunk_bytes", "Length of a chunk", base.DEC),
	n_chunks = ProtoField.uint16("plenum.n_chunks", "Chunks in this packet", base.DEC),
	payload = ProtoField.bytes("plenum.payload", "Bytes of the message"),
	ack_path = ProtoField.uint8("plenum.ack.path", "Acknowledges path", base.DEC),
	ack_gap = ProtoField.uint8("plenum.ack.gap", "Gap", base.DEC),
	ack_delay = ProtoField.uint16("plenum.ack.delay", "Delay (us)", base.DEC),
	ack_top = ProtoField.uint32("plenum.ack.top", "Top", base.DEC),
	ack_word = ProtoField.uint64("plenum.ack.word", "Word", base.HEX),
	grant_again = ProtoField.uint16("plenum.grant.again", "Again", base.DEC),
	op = ProtoField.uint32("plenum.fuse.opcode", "Request", base.DEC, opcodes),
	fuse_len = ProtoField.uint32("plenum.fuse.len", "Length", base.DEC),
	unique = ProtoField.uint64("plenum.fuse.unique", "Unique", base.HEX),
	fuse_error = ProtoField.int32("plenum.fuse.error", "Error", base.DEC),
	uid = ProtoField.uint32("plenum.fuse.uid", "User", base.DEC),
	gid = ProtoField.uint32("plenum.fuse.gid", "Group", base.DEC),
}
for _, field in pairs(f) do
	plenum.fields[#plenum.fields + 1] = field
end
plenum.prefs.keys = Pref.string("Keys of encrypted sessions", "", "The file that 'plenum capture --keys' wrote")
plenum.prefs.security = Pref.enum("Protection of sessions", 0, "How the data after the common header are protected",
	{ { 1, "detect from the packets", 0 }, { 2, "none", 1 }, { 3, "auth", 2 }, { 4, "encrypt", 3 } }, false)

-- The protection of each session, as detected: "none", "auth" or "encrypt".
local learnt = {}

-- ---- ciphers: AESGCM and ChaChaPoly of the Noise framework, without their tags, which truncated packets lack ----

local band, bor, bxor, lshift, rshift, rol = bit.band, bit.bor, bit.bxor, bit.lshift, bit.rshift, bit.rol

local function words_be(text)
	local w = {}
	for i = 1, #text, 4 do
		local a, b, c, d = text:byte(i, i + 3)
		w[#w + 1] = bor(lshift(a, 24), lshift(b, 16), lshift(c, 8), d)
	end
	return w
end

local function bytes_be(w)
	return string.char(band(rshift(w, 24), 255), band(rshift(w, 16), 255), band(rshift(w, 8), 255), band(w, 255))
end

local function bytes_le(w)
	return string.char(band(w, 255), band(rshift(w, 8), 255), band(rshift(w, 16), 255), band(rshift(w, 24), 255))
end

-- FIPS 197: the S-box, and tables that combine it with the mixing of columns in a round.
local sbox, column = {}, { {}, {}, {}, {} }
local function double(a)
	return a < 128 and a * 2 or bxor(a * 2, 0x11b)
end
local function make_tables()
	local p, q = 1, 1 -- a power of 3 and its inverse
	repeat
		p = bxor(p, double(p))
		q = bxor(q, lshift(q, 1))
		q = bxor(q, lshift(q, 2))
		q = band(bxor(q, lshift(q, 4)), 255)
		if q >= 128 then q = bxor(q, 9) end
		local x = bxor(q, lshift(q, 1), lshift(q, 2), lshift(q, 3), lshift(q, 4))
		sbox[p] = bxor(band(bxor(x, rshift(x, 8)), 255), 0x63)
	until p == 1
	sbox[0] = 0x63
	for i = 0, 255 do
		local v = sbox[i]
		local w = bor(lshift(double(v), 24), lshift(v, 16), lshift(v, 8), bxor(double(v), v))
		for k = 1, 4 do column[k][i] = rol(w, 32 - 8 * (k - 1)) end
	end
end
make_tables()

local function sub_word(w)
	return bor(lshift(sbox[band(rshift(w, 24), 255)], 24), lshift(sbox[band(rshift(w, 16), 255)], 16),
		lshift(sbox[band(rshift(w, 8), 255)], 8), sbox[band(w, 255)])
end

local function aes_schedule(key)
	local w, rcon = words_be(key), 1
	for i = 8, 59 do
		local t = w[i]
		if i % 8 == 0 then
			t = bxor(sub_word(rol(t, 8)), lshift(rcon, 24))
			rcon = double(rcon)
		elseif i % 8 == 4 then
			t = sub_word(t)
		end
		w[i + 1] = bxor(w[i - 7], t)
	end
	return w
end

local function aes_block(w, a, b, c, d)
	local t1, t2, t3, t4 = column[1], column[2], column[3], column[4]
	a, b, c, d = bxor(a, w[1]), bxor(b, w[2]), bxor(c, w[3]), bxor(d, w[4])
	local function mix(p, q, r, s, k)
		return bxor(t1[band(rshift(p, 24), 255)], t2[band(rshift(q, 16), 255)], t3[band(rshift(r, 8), 255)],
			t4[band(s, 255)], k)
	end
	local function last(p, q, r, s, k)
		return bxor(lshift(sbox[band(rshift(p, 24), 255)], 24), lshift(sbox[band(rshift(q, 16), 255)], 16),
			lshift(sbox[band(rshift(r, 8), 255)], 8), sbox[band(s, 255)], k)
	end
	local step, at = mix, 5
	for round = 1, 14 do
		if round == 14 then step = last end
		a, b, c, d = step(a, b, c, d, w[at]), step(b, c, d, a, w[at + 1]), step(c, d, a, b, w[at + 2]),
			step(d, a, b, c, w[at + 3])
		at = at + 4
	end
	return bytes_be(a) .. bytes_be(b) .. bytes_be(c) .. bytes_be(d)
end

-- NIST SP 800-38D: the nonce has 96 bits, of which Noise sets the first 32 to zero; then follows a block counter.
-- Block 1 is for the tag, so the data begin with block 2.
local function aes_stream(key, high, low, block)
	key.schedule = key.schedule or aes_schedule(key.bytes)
	return aes_block(key.schedule, 0, high, low, block + 2)
end

-- RFC 8439, 2.3. Block 0 is for the tag.
local function chacha_stream(key, high, low, block)
	local init = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 }
	for i = 1, 32, 4 do
		local a, b, c, d = key.bytes:byte(i, i + 3)
		init[#init + 1] = bor(a, lshift(b, 8), lshift(c, 16), lshift(d, 24))
	end
	init[13], init[14], init[15], init[16] = block + 1, 0, low, high
	local x = {}
	for i = 1, 16 do x[i] = bit.tobit(init[i]) end
	local function quarter(a, b, c, d)
		x[a] = bit.tobit(x[a] + x[b]) x[d] = rol(bxor(x[d], x[a]), 16)
		x[c] = bit.tobit(x[c] + x[d]) x[b] = rol(bxor(x[b], x[c]), 12)
		x[a] = bit.tobit(x[a] + x[b]) x[d] = rol(bxor(x[d], x[a]), 8)
		x[c] = bit.tobit(x[c] + x[d]) x[b] = rol(bxor(x[b], x[c]), 7)
	end
	for _ = 1, 10 do
		quarter(1, 5, 9, 13) quarter(2, 6, 10, 14) quarter(3, 7, 11, 15) quarter(4, 8, 12, 16)
		quarter(1, 6, 11, 16) quarter(2, 7, 12, 13) quarter(3, 8, 9, 14) quarter(4, 5, 10, 15)
	end
	local out = {}
	for i = 1, 16 do out[i] = bytes_le(bit.tobit(x[i] + init[i])) end
	return table.concat(out)
end

-- Encrypts or decrypts text with this key and the nonce high * 2^32 + low; both are the same operation.
local function decipher(key, high, low, text)
	local stream, step = aes_stream, 16
	if key.cipher == 2 then stream, step = chacha_stream, 64 end
	local out = {}
	for at = 0, #text - 1, step do
		local pad = stream(key, high, low, at / step)
		local n = math.min(step, #text - at)
		local mine, its = { text:byte(at + 1, at + n) }, { pad:byte(1, n) }
		for i = 1, n do mine[i] = bxor(mine[i], its[i]) end
		out[#out + 1] = string.char((table.unpack or unpack)(mine))
	end
	return table.concat(out)
end

-- ---- keys ----

-- For each session number of the packets: its keys by phase, the current phase, and high bits of packet numbers.
local sessions = {}
-- For each frame: the phase and the high bits that decrypted it, because wireshark dissects frames again in any order.
local opened = {}

local function read_keys(name)
	local file = name ~= "" and io.open(name)
	if not file then return end
	for line in file:lines() do
		local session, phase, cipher, hex = line:match("^(%x+) (%d+) ([12]) (%x+)$")
		if hex and #session == 16 and #hex == 64 then
			local s = sessions[session:lower()] or { keys = {}, high = {} }
			phase = tonumber(phase)
			s.keys[phase] = { cipher = tonumber(cipher),
				bytes = hex:gsub("%x%x", function(h) return string.char(tonumber(h, 16)) end) }
			s.now = math.min(s.now or phase, phase)
			sessions[session:lower()] = s
		end
	end
	file:close()
end

-- Derives the key of a phase from that of the phase before: Rekey() of the Noise framework.
local function key_of(s, phase)
	if not s.keys[phase] and s.keys[phase - 1] then
		local before = s.keys[phase - 1]
		s.keys[phase] = { cipher = before.cipher, bytes = decipher(before, 0xffffffff, 0xffffffff, ("\0"):rep(32)) }
	end
	return s.keys[phase]
end

function plenum.init()
	learnt, sessions, opened = {}, {}, {}
	read_keys(plenum.prefs.keys)
end

-- ---- validity of packets ----

-- Length of the current packet; that of a decrypted packet does not include its tag.
local wire_len = 0

local function chunks_of(len, chunk)
	return len <= chunk and 1 or math.floor((len + chunk - 1) / chunk)
end

-- Returns whether the DATA packet is valid if its fields begin at `at`: its length must match them.
local function data_fits(tvb, at)
	if tvb:len() < at + 20 then return false end
	local flags = tvb(3, 1):uint()
	local index, len = tvb(at + 6, 2):uint(), tvb(at + 8, 4):uint()
	local chunk, n = tvb(at + 12, 2):uint(), tvb(at + 14, 2):uint()
	local head = at + 20 + (bit.band(flags, 0x04) ~= 0 and 28 or 0)
	if len > 1052672 or chunk == 0 then return false end
	-- With NEED the packet has no chunk of the message.
	if bit.band(flags, 0x10) ~= 0 then return index == 0 and wire_len == head end
	local all = chunks_of(len, chunk)
	if n == 0 or index + n > all then return false end
	local bytes = index + n == all and len - index * chunk or n * chunk
	return wire_len == head + bytes
end

local function ack_fits(tvb, at)
	local words = wire_len - at - 12
	return words >= 8 and words <= 32 and words % 8 == 0 and tvb:len() > at and tvb(at, 1):uint() < 8
end

local lengths = { [6] = 0, [11] = 16, [12] = 16, [14] = 4, [15] = 4 }

local function fits(tvb, kind, at)
	if kind == 7 then return data_fits(tvb, at) end
	if kind == 8 then return ack_fits(tvb, at) end
	if kind == 10 then
		local n = wire_len - at
		return n >= 8 and n <= 48 and n % 8 == 0
	end
	if kind == 14 and band(tvb(3, 1):uint(), 0x02) ~= 0 then return wire_len == at + 28 end
	if kind == 14 and band(tvb(3, 1):uint(), 0x04) ~= 0 then return wire_len == at + 8 end
	return lengths[kind] ~= nil and wire_len == at + lengths[kind]
end

local by_preference = { [1] = "none", [2] = "auth", [3] = "encrypt" }

-- The first DATA packet decides for its session. Earlier packets are judged one by one.
local function security_of(tvb, kind)
	local wanted = by_preference[plenum.prefs.security]
	if wanted then return wanted end
	local session = tostring(tvb(4, 8):uint64())
	if learnt[session] then return learnt[session] end
	local found = fits(tvb, kind, 16) and "none" or fits(tvb, kind, 32) and "auth" or "encrypt"
	if kind == 9 then found = "none" end -- a PING has padding of any length
	if kind == 7 then learnt[session] = found end
	return found
end

-- DATA, PING and GRANT are numbered per path, all other types per session; the first byte of the nonce shows which.
local by_path = { [7] = true, [9] = true, [10] = true }

-- Returns the packet with its fields decrypted, if this key and these high bits make it valid.
local function try(tvb, kind, s, phase, high)
	local key = key_of(s, phase)
	if not key then return end
	local counter = by_path[kind] and band(tvb(2, 1):uint(), 7) or 8
	local text = tvb:len() > 32 and tvb:raw(32) or ""
	text = decipher(key, bor(lshift(counter, 24), high), tvb(12, 4):uint(), text)
	local clear = ByteArray.new(tvb:raw(0, 16) .. text, true):tvb("Deciphered")
	-- A PING is valid if its report, if any, has possible numbers and all padding is zero.
	local reports = kind == 9 and band(tvb(3, 1):uint(), 1) == 1 and #text >= 16
	if reports and (clear(20, 4):uint() > clear(16, 4):uint() or clear(28, 4):uint() > 60000000) then return end
	if kind == 9 and not (reports and text:sub(17) or text):find("[^%z]") then return clear end
	return kind ~= 9 and fits(clear, kind, 16) and clear or nil
end

-- A bit of the header is set if the phase of the key is odd. A sender uses each key for at least 2^22 packets, so the
-- phase limits the high bits of a packet number.
local function open(tvb, pinfo, kind)
	local s = sessions[tvb:raw(4, 8):gsub(".", function(c) return string.format("%02x", c:byte()) end)]
	if not s or tvb:len() < 32 or tvb:reported_len() < 32 then return end
	local was, odd = opened[pinfo.number], rshift(tvb(2, 1):uint(), 7)
	wire_len = tvb:reported_len() - 16
	if was then return try(tvb, kind, s, was[1], was[2]) end
	local counter = by_path[kind] and band(tvb(2, 1):uint(), 7) or 8
	for _, phase in ipairs({ s.now, s.now + 1, s.now - 1 }) do
		local known = s.high[counter] or 0
		for n = 0, phase % 2 == odd and math.floor(phase / 512) + 1 or -1 do
			local high = n == 0 and known or n <= known and n - 1 or n
			local clear = try(tvb, kind, s, phase, high)
			if clear then
				if kind == 7 then s.now, s.high[counter] = math.max(phase, s.now), high end
				opened[pinfo.number] = { phase, high }
				return clear
			end
		end
	end
end

-- ---- fields ----

local function have(tvb, at, n)
	return tvb:len() >= at + n
end

-- Adds consecutive fields as far as they were captured. Returns the offset after the last.
local function add_all(tree, tvb, at, list)
	for _, item in ipairs(list) do
		if not have(tvb, at, item[2]) then return at end
		if item[1] then tree:add(item[1], tvb(at, item[2])) end
		at = at + item[2]
	end
	return at
end

local function add_rest(tree, tvb, at, field)
	if have(tvb, at, 1) then tree:add(field, tvb(at)) end
end

local function add_addr(tree, tvb, at)
	local v6 = tvb(at, 1):uint() == 6
	local ip = v6 and tostring(tvb(at + 8, 16):ipv6()) or tostring(tvb(at + 8, 4):ipv4())
	tree:add(f.addr, tvb(at, 24), string.format("%s/%d port %d label %08x", ip, tvb(at + 1, 1):uint(),
		tvb(at + 2, 2):uint(), tvb(at + 4, 4):uint()))
end

local function hello(tree, tvb, info)
	local at = add_all(tree, tvb, 16, { { f.client_number, 8 }, { f.cookie, 8 }, { f.cipher, 1 }, { nil, 1 },
		{ f.body_len, 2 } })
	if at < 36 then return end
	if tvb(32, 1):uint() ~= 0 then return add_rest(tree, tvb, at, f.body) end
	at = add_all(tree, tvb, at, { { f.identity, 8 }, { f.former, 8 }, { f.epoch, 4 }, { f.mtu, 2 }, { f.slots, 2 },
		{ f.token, 16 }, { f.body_len, 2 }, { f.wanted, 1 }, { nil, 1 } })
	add_rest(tree, tvb, at, f.body)
end

local function accept(tree, tvb, info)
	local at = add_all(tree, tvb, 16, { { f.cipher, 1 }, { nil, 1 }, { f.body_len, 2 } })
	if at < 20 then return end
	if tvb(16, 1):uint() ~= 0 then return add_rest(tree, tvb, at, f.body) end
	at = add_all(tree, tvb, at, { { f.server_number, 8 }, { f.identity, 8 }, { f.token, 16 }, { f.epoch, 4 },
		{ f.credit, 4 }, { f.mtu, 2 }, { f.slots, 2 }, { nil, 1 }, { f.wanted, 1 }, { nil, 2 } })
	while have(tvb, at, 24) do
		add_addr(tree, tvb, at)
		at = at + 24
	end
end

local function refuse(tree, tvb, info)
	local at = add_all(tree, tvb, 16, { { f.cipher, 1 }, { nil, 1 }, { f.body_len, 2 } })
	if at < 20 then return end
	if tvb(16, 1):uint() ~= 0 then return add_rest(tree, tvb, at, f.body) end
	at = add_all(tree, tvb, at, { { f.error, 4 } })
	add_rest(tree, tvb, at, f.text)
end

local function ack_block(tree, tvb, at, words, info)
	local block = tree:add(plenum, tvb(at, math.min(12 + 8 * words, tvb:len() - at)), "Acknowledgement")
	at = add_all(block, tvb, at, { { f.ack_path, 1 }, { f.ack_gap, 1 }, { f.ack_delay, 2 }, { f.ack_top, 4 },
		{ f.credit, 4 } })
	for _ = 1, words do
		at = add_all(block, tvb, at, { { f.ack_word, 8 } })
	end
	return at
end

-- The header of a request or response of the Linux FUSE protocol, little endian.
local function fuse(tree, tvb, at, response, info)
	if not have(tvb, at, 16) then return end
	local head = tree:add(plenum, tvb(at, math.min(40, tvb:len() - at)), response and "FUSE response" or "FUSE request")
	head:add_le(f.fuse_len, tvb(at, 4))
	head:add_le(response and f.fuse_error or f.op, tvb(at + 4, 4))
	head:add_le(f.unique, tvb(at + 8, 8))
	if response then
		local error = tvb(at + 4, 4):le_int()
		if error ~= 0 then info[#info + 1] = "error " .. error end
	else
		info[#info + 1] = opcodes[tvb(at + 4, 4):le_uint()] or "?"
		if have(tvb, at, 32) then
			head:add_le(f.uid, tvb(at + 24, 4))
			head:add_le(f.gid, tvb(at + 28, 4))
		end
	end
end

local function data(tree, tvb, info, at)
	local flags = tvb(3, 1):uint()
	local response = bit.band(flags, 0x01) ~= 0
	local fields = tvb(at)
	local after = add_all(tree, tvb, at, { { f.gen, 4 }, { f.slot, 2 }, { f.chunk, 2 }, { f.msg_len, 4 },
		{ f.chunk_bytes, 2 }, { f.n_chunks, 2 }, { f.credit, 4 } })
	if after < at + 20 then return end
	info[#info + 1] = string.format("%s slot %d gen %u chunk %d+%d of %u bytes", response and "response" or
		"request", fields(4, 2):uint(), fields(0, 4):uint(), fields(6, 2):uint(), fields(14, 2):uint(),
		fields(8, 4):uint())
	at = after
	if bit.band(flags, 0x04) ~= 0 then at = ack_block(tree, tvb, at, 2, info) end
	if bit.band(flags, 0x10) ~= 0 then
		info[#info + 1] = "announced"
		return
	end
	if fields(6, 2):uint() == 0 then fuse(tree, tvb, at, response, info) end
	add_rest(tree, tvb, at, f.payload)
end

local function grant(tree, tvb, info, at)
	while have(tvb, at, 8) do
		at = add_all(tree, tvb, at, { { f.slot, 2 }, { f.grant_again, 2 }, { f.gen, 4 } })
	end
end

local function ack(tree, tvb, info, at)
	if not have(tvb, at, 12) then return end
	info[#info + 1] = string.format("path %d top %u", tvb(at, 1):uint(), tvb(at + 4, 4):uint())
	ack_block(tree, tvb, at, math.floor((wire_len - at - 12) / 8), info)
end

local function fixed(list)
	return function(tree, tvb, info, at) add_all(tree, tvb, at, list) end
end

local function versions(tree, tvb, info)
	for at = 16, tvb:len() - 1 do tree:add(f.spoken, tvb(at, 1)) end
end

local function reset(tree, tvb, info)
	add_all(tree, tvb, 16, { { f.token, 16 }, { f.token, 16 } })
end

local function ping(tree, tvb, info, at)
	if band(tvb(3, 1):uint(), 1) == 0 then return end
	add_all(tree, tvb, at, { { f.report_top, 4 }, { f.report_arrived, 4 }, { f.report_probes, 4 }, { f.report_rtt, 4 } })
end

local function label(tree, tvb, info, at)
	if band(tvb(3, 1):uint(), 0x04) ~= 0 and have(tvb, at, 4) then
		tree:add(f.source, tvb(at, 1))
		tree:add(f.source_port, tvb(at + 2, 2))
		return
	end
	at = add_all(tree, tvb, at, { { f.label, 4 } })
	if band(tvb(3, 1):uint(), 0x02) ~= 0 and have(tvb, at, 24) then add_addr(tree, tvb, at) end
end

local parts = {
	[1] = hello, [2] = fixed({ { f.cookie, 8 } }), [3] = accept, [4] = refuse, [5] = reset, [6] = fixed({}),
	[7] = data, [8] = ack, [9] = ping, [10] = grant, [11] = fixed({ { f.cookie, 8 }, { f.stamp, 4 } }),
	[12] = fixed({ { f.cookie, 8 }, { f.stamp, 4 } }), [13] = versions, [14] = label,
	[15] = fixed({ { f.share, 4 } }),
}
local flag_fields = {
	[1] = { f.standby }, [7] = { f.response, f.ack_block, f.want_ack, f.need }, [11] = { f.standby },
	[12] = { f.prove }, [14] = { f.heard, f.address, f.of_source },
}

function plenum.dissector(tvb, pinfo, tree)
	if tvb:len() < 16 then return 0 end
	local kind = bit.band(tvb(1, 1):uint(), 0x0f)
	local top = tree:add(plenum, tvb())
	local info, at = {}, 16
	pinfo.cols.protocol = "PLENUM"
	add_all(top, tvb, 0, { { f.magic, 1 } })
	top:add(f.version, tvb(1, 1))
	top:add(f.type, tvb(1, 1))
	top:add(f.path, tvb(2, 1))
	top:add(f.phase, tvb(2, 1))
	local flags = top:add(f.flags, tvb(3, 1))
	for _, field in ipairs(flag_fields[kind] or {}) do flags:add(field, tvb(3, 1)) end
	top:add(f.session, tvb(4, 8))
	top:add(f.pn, tvb(12, 4))
	local clear = protected_types[kind] and open(tvb, pinfo, kind)
	wire_len = tvb:reported_len()
	local security = clear and "encrypt" or protected_types[kind] and security_of(tvb, kind) or "none"
	if security ~= "none" then
		top:add(f.security, security):set_generated()
		at = add_all(top, tvb, at, { { f.tag, 16 } })
	end
	if clear then
		info[#info + 1] = "deciphered"
		wire_len = wire_len - 16
		top:add(f.deciphered, true):set_generated()
		parts[kind](top, clear, info, 16)
	elseif security == "encrypt" then
		info[#info + 1] = "encrypted"
		add_rest(top, tvb, at, f.sealed)
	elseif parts[kind] then
		parts[kind](top, tvb, info, at)
	end
	local name = types[kind] or "?"
	top:append_text(": " .. name)
	pinfo.cols.info = string.format("%s path %d pn %u %s", name, bit.band(tvb(2, 1):uint(), 7), tvb(12, 4):uint(),
		table.concat(info, ", "))
	return tvb:len()
end

local function looks_like_it(tvb, pinfo, tree)
	if tvb:len() < 16 or tvb(0, 1):uint() ~= MAGIC then return false end
	local second = tvb(1, 1):uint()
	local kind, version = bit.band(second, 0x0f), bit.rshift(second, 4)
	if kind == 0 or not types[kind] or version ~= (kind == 13 and 0 or VERSION) then return false end
	if bit.band(tvb(2, 1):uint(), 0x78) ~= 0 then return false end
	plenum.dissector(tvb, pinfo, tree)
	return true
end
plenum:register_heuristic("udp", looks_like_it)
