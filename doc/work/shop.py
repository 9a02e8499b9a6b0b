# SPDX-License-Identifier: GPL-2.0-only
# A service in Flask, for the flame graph in README.md: gunicorn -w 2 shop:app
import hashlib
import json

from flask import Flask, jsonify, render_template_string, request

app = Flask(__name__)
goods = [{"id": i, "name": f"thing {i}", "price": i * 7 % 100} for i in range(500)]

PAGE = """<ul>{% for g in goods %}<li>{{ g.name }}: {{ g.price }}</li>{% endfor %}</ul>"""


def rank(good, words):
    return sum(word in good["name"] for word in words)


@app.route("/search")
def search():
    words = request.args.get("q", "").split()
    found = sorted(goods, key=lambda good: rank(good, words), reverse=True)
    return jsonify(found[:20])


@app.route("/list")
def show_list():
    return render_template_string(PAGE, goods=goods[:60])


def total(order):
    return sum(goods[i]["price"] for i in order["goods"])


@app.route("/order", methods=["POST"])
def order():
    wanted = json.loads(request.data)
    receipt = hashlib.sha256(request.data).hexdigest()
    return jsonify(total=total(wanted), receipt=receipt)
